"""One command in a process group of its own, from a gate it waits behind to the last of its processes.

The command is started by `/bin/sh`, which reads one line before it becomes the command. So the caller can record the
group on disk before the first command of a script runs, and a runner that dies in between has run nothing.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.errors import Invalid
from files.process_start import process_start
from fleet.executors.rights import JobRights, Launch
from fleet.executors.survivors import has_members
from steps.engine.processes import KILL_WAIT

GATE = 'read -r go || exit 125; exec "$@" </dev/null'
READ_SIZE = 64 * 1024
DRAIN = 2.0
"""Seconds to wait for the end of the output after the last process of the group has died."""


@dataclass(frozen=True, slots=True)
class Group:
    """A process group: its id, and the `process_start` of its leader."""

    id: int
    start: str


@dataclass(frozen=True, slots=True)
class Command:
    """What to run and where."""

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    """Holds `survivors.MARK`, so that the processes are found wherever they go."""
    rights: JobRights | None = None
    """With which rights; None for the runner's own."""


async def run_command(
    command: Command,
    write: Callable[[bytes], None],
    record: Callable[[Group], None],
    grace: float = 10.0,
) -> int:
    """Run to the end and return the exit status (negative: the signal that ended it).

    `write` gets stdout and stderr as they come. `record` gets the group before anything runs.
    Nothing of the group is left when this returns, is canceled or raises: SIGTERM, then SIGKILL after `grace` seconds.
    Raises Invalid when the command cannot be started, and whatever `write` raises.
    """
    out_read, out_write = os.pipe()
    gate_read, gate_write = os.pipe()
    output = _Output(out_read, write)
    try:
        try:
            process = await _start(command, gate_read, out_write)
        finally:
            os.close(gate_read)
            os.close(out_write)
        group = Group(process.pid, process_start(process.pid))
        try:
            record(group)
            os.write(gate_write, b"\n")
            return await _ended(process, output)
        finally:
            await asyncio.shield(_finish(group.id, process, output, grace))
    finally:
        output.close()
        os.close(gate_write)


async def end_group(group: int, grace: float) -> None:
    """SIGTERM to every process of the group, SIGKILL to what is left after `grace` seconds; return when none is."""
    if not _signal_group(group, signal.SIGTERM):
        return
    deadline = time.monotonic() + grace
    # Zombies of a machine whose first process reaps none would keep the group for ever: only the living count.
    while has_members(group) and time.monotonic() < deadline + KILL_WAIT:
        if time.monotonic() >= deadline:
            _signal_group(group, signal.SIGKILL)
        await asyncio.sleep(0.05)


async def _start(command: Command, gate: int, out: int) -> asyncio.subprocess.Process:
    gated = ("/bin/sh", "-c", GATE, "sh", *command.arguments)
    plain = contextlib.nullcontext(Launch(gated, command.environment))
    try:
        with command.rights.launch(gated, command.environment) if command.rights else plain as launch:
            return await asyncio.create_subprocess_exec(
                *launch.arguments,
                stdin=gate,
                stdout=out,
                stderr=out,
                cwd=command.folder,
                env=dict(launch.environment),
                start_new_session=True,
                **launch.options,
            )
    except (OSError, ValueError) as error:
        raise Invalid(
            f"{command.arguments[0]} cannot be started in {command.folder}: {error}; "
            "one variable may hold 128 KiB at most, use a file variable for more"
        ) from error


async def _ended(process: asyncio.subprocess.Process, output: "_Output") -> int:
    """Wait for the leader; an output that cannot be written ends the wait with its error."""
    leader = asyncio.create_task(process.wait())
    try:
        waiting: set[asyncio.Future[Any]] = {leader, output.failed}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if output.failed.done():
            output.failed.result()
        return await leader
    finally:
        if not leader.done():
            leader.cancel()


async def _finish(group: int, process: asyncio.subprocess.Process, output: "_Output", grace: float) -> None:
    await end_group(group, grace)
    await process.wait()
    # A process that left the group may keep the pipe open for ever; what the group wrote is in the pipe already.
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(output.ended), DRAIN)


class _Output:
    """The reading end of a command's output: hands over what comes until all writers are gone."""

    def __init__(self, fd: int, write: Callable[[bytes], None]) -> None:
        self._fd, self._write = fd, write
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.failed: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._ready)

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._fd)
            self.ended.set_result(None)
            return
        try:
            if not self.failed.done():
                self._write(data)
        except Exception as error:  # noqa: BLE001  (handed to the waiter, the loop would only print it)
            self.failed.set_exception(error)

    def close(self) -> None:
        """Stop reading."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        if self.failed.done():
            self.failed.exception()


def _signal_group(group: int, number: signal.Signals) -> bool:
    """Send a signal and tell whether the group has a process; one of another user counts."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
