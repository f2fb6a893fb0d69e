"""Keeps the processes of the embedded mode alive.

Children lead sessions of their own and do not notice when the supervisor dies; the next supervisor of the same home
adopts those that live. Dead ones are started again, at first at once, then ever more slowly, and never given up.
The front's listening socket belongs to the supervisor (`pods.sockets`), so that a dead front refuses nobody.
"""

import asyncio
import contextlib
import logging
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace

import psutil

from domain.text_lines import lines_of
from files.process_log import configure_lines
from pods.back_off import BackOff
from pods.child import Child
from pods.listening import hand_on, offer_of
from pods.process import (
    MARK,
    Identity,
    end,
    end_group,
    exited,
    identity_of,
    is_alive,
    own_identity,
    send,
)
from pods.run_folder import SUPERVISOR, RunFolder, RunRecord
from pods.sockets import Sockets
from pods.stack import stack
from settings import Settings

GRACE = 10.0
"""How long a child may take to end after SIGTERM."""
DEPENDENCY = 10.0
"""How long a child waits for those it is started after; then it is started anyway and copes."""
LOOK_EVERY = 0.25
WRITE_EVERY = 1.0
"""How often a record is tried again for which the disk had no room."""
ROOM = 4 * 1024 * 1024
"""Bytes; a disk that has less is full: what ends meanwhile is started again as soon as there is more."""
LAST_LINES = 5
"""So many of what has ended are repeated in our own log."""
TRIM_EVERY = 30.0
"""How often logs are looked at that may have become too long."""

log = logging.getLogger("perdure.supervisor")


class Supervisor:
    """Starts, adopts, watches, restarts and stops the children of one home."""

    def __init__(self, children: Sequence[Child], folder: RunFolder, grace: float = GRACE) -> None:
        """`children` in the order of their start; `grace` is the time between SIGTERM and SIGKILL in seconds."""
        self._children = tuple(children)
        self._folder = folder
        self._grace = grace
        self._sockets = Sockets(folder.home)
        self._living: dict[str, Identity] = {}
        self._farewells: set[asyncio.Task[None]] = set()
        self._own: dict[str, subprocess.Popen[bytes]] = {}
        self._unwritten: dict[str, RunRecord] = {}

    async def run(self, stop: asyncio.Event, leave: asyncio.Event) -> None:
        """Keep all children alive until `stop` or `leave` is set, then stop them in reverse order.

        With `leave` those that have a listening socket are left to hold callers for a restart.
        """
        keepers = [asyncio.create_task(self._keep(child)) for child in self._children]
        keepers += [asyncio.create_task(self._trim_logs()), asyncio.create_task(self._write_again())]
        endings = [asyncio.create_task(event.wait()) for event in (stop, leave)]
        await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        for task in (*endings, *keepers, *self._farewells):
            task.cancel()
        await asyncio.gather(*endings, *keepers, *self._farewells, return_exceptions=True)
        for child in reversed(self._children):
            if leave.is_set() and child.socket:
                self._leave(child)
            else:
                await self._stop(child)

    async def _trim_logs(self) -> None:
        """Keep the logs of processes that run for months from filling the disk."""
        while True:
            for name in (SUPERVISOR, *(child.name for child in self._children)):
                try:
                    await asyncio.to_thread(self._folder.trim_log, name)
                except OSError as error:
                    log.error("the log of %s cannot be put aside: %s", name, error)  # noqa: TRY400
            await asyncio.sleep(TRIM_EVERY)

    async def _keep(self, child: Child) -> None:
        """Watch one child for ever; a fault of our own costs a second, never the watch."""
        while True:
            try:
                await self._watch(child)
            except Exception:  # whatever it is, an unwatched child would be worse
                log.exception("watching %s failed; it is taken up again", child.name)
                await asyncio.sleep(1)

    async def _watch(self, child: Child) -> None:
        """Start or adopt one child and start it again whenever it ends."""
        record = await self._adopt(child)
        if record is None:
            await self._until_wanted(child)
            await self._dependencies(child)
        back_off = BackOff()
        restarts = record.restarts if record else 0
        while True:
            began = time.monotonic()
            started = record or self._start(child, restarts)
            if isinstance(started, str):
                how = started
            else:
                self._living[child.name] = started.identity
                await exited(started.identity)
                how = self._bury(child)
            pause = back_off.after(time.monotonic() - began)
            log.warning("%s %s; it is started again in %g s%s", child.name, how, pause, self._last_lines(child))
            await self._pause(pause)
            record, restarts = None, restarts + 1

    async def _pause(self, seconds: float) -> None:
        """Let some time pass; on a disk that is full it ends once there is room."""
        deadline, was_full = time.monotonic() + seconds, self._is_full()
        while was_full and self._is_full() and time.monotonic() < deadline:  # noqa: ASYNC110  # others make room
            await asyncio.sleep(LOOK_EVERY)
        if not was_full:
            await asyncio.sleep(seconds)

    def _is_full(self) -> bool:
        return shutil.disk_usage(self._folder.run).free < ROOM

    def _last_lines(self, child: Child) -> str:
        """The end of its log, for ours."""
        lines = lines_of(self._folder.log_tail(child.name, LAST_LINES))
        return "".join(f"\n    {child.name}: {line[:500]}" for line in lines)

    async def _until_wanted(self, child: Child) -> None:
        while not child.wanted:  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(LOOK_EVERY)

    async def _dependencies(self, child: Child) -> None:
        """Wait until the children it comes after are ready, but not for ever."""
        checks = [other.ready for other in self._children if other.name in child.after and other.wanted]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DEPENDENCY):
                for check in checks:
                    while check and not await asyncio.to_thread(check.ask):  # noqa: ASYNC110  # another process
                        await asyncio.sleep(LOOK_EVERY / 5)

    async def _adopt(self, child: Child) -> RunRecord | None:
        """The living process of this child, if an earlier supervisor left one that was started in the same way."""
        record = self._folder.living(child.name, child.argv)
        if record is None:
            return None
        if child.socket:
            await asyncio.to_thread(self._sockets.take_over, child.socket, record.pid)
        if record.argv != child.argv or record.is_left:
            return await self._replace(child, record)
        log.info("%s (pid %d) lives and is adopted", child.name, record.pid)
        self.remember(record)
        return record

    async def _replace(self, child: Child, old: RunRecord) -> RunRecord | None:
        """The process in the place of one that was left, or started with other arguments; None if none runs yet.

        With a listening socket the new one serves before the old one stops accepting: nobody is refused, and what the
        old one holds it holds to the end.
        """
        if not child.socket or not self._sockets.has(child.socket):
            log.info("%s (pid %d) was started in another way; it is replaced", child.name, old.pid)
            await end(old.identity, self._grace)
            return None
        former = replace(old, name=f"{self._folder.leaving(child.name)}{old.pid}", is_left=False)
        self.remember(former)
        new = self._start(child, old.restarts)
        task = asyncio.create_task(self._farewell(child, former))
        self._farewells.add(task)
        task.add_done_callback(self._farewells.discard)
        return None if isinstance(new, str) else new

    async def _farewell(self, child: Child, former: RunRecord) -> None:
        """Let a process go once another one serves in its place; it serves what is connected to it, and ends."""
        while not self._serves(child) and is_alive(former.identity):  # noqa: ASYNC110  # another process
            await asyncio.sleep(LOOK_EVERY / 5)
        log.info("%s (pid %d) has given its place to another and serves its last callers", child.name, former.pid)
        send(former.identity, signal.SIGQUIT)
        await exited(former.identity)
        self._forget(former.name)

    def _serves(self, child: Child) -> bool:
        """Does the process of now offer its listening socket? It does so once it accepts connections."""
        identity = self._living.get(child.name)
        return identity is not None and offer_of(self._folder.home, identity.pid).exists()

    def _start(self, child: Child, restarts: int) -> RunRecord | str:
        """Start it; how it ended if it did at once, or that it does not run, with the reason in the log."""
        try:
            sockets = self._sockets.of(child.socket) if child.socket else []
            with self._folder.open_log(child.name) as output:
                process = subprocess.Popen(
                    child.argv,
                    env={**child.env, **hand_on(sockets), MARK: self._folder.mark(child.name)},
                    pass_fds=[one.fileno() for one in sockets],
                    cwd=self._folder.home,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            log.error("%s cannot be started: %s", child.name, error)  # noqa: TRY400  # the reason is the message
            return "does not run"
        self._own[child.name] = process
        log.info("%s started as pid %d", child.name, process.pid)
        identity = identity_of(process.pid)
        if identity is None:
            return self._bury(child)
        record = RunRecord.of(child.name, identity, child.argv, restarts)
        self.remember(record)
        return record

    def remember(self, record: RunRecord) -> None:
        """Write a record, now or as soon as the disk has room."""
        try:
            self._folder.write(record)
            self._unwritten.pop(record.name, None)
        except OSError as error:
            # The child runs and carries its mark, by which others find it meanwhile.
            self._unwritten[record.name] = record
            log.error("the record of %s cannot be written; it is tried again: %s", record.name, error)  # noqa: TRY400

    async def _write_again(self) -> None:
        """Write the records for which the disk had no room."""
        while True:
            await asyncio.sleep(WRITE_EVERY)
            for record in tuple(self._unwritten.values()):
                with contextlib.suppress(OSError):
                    self._folder.write(record)
                    self._unwritten.pop(record.name)
                    log.info("the record of %s is written", record.name)

    def _forget(self, name: str) -> None:
        self._unwritten.pop(name, None)
        self._folder.forget(name)

    def _bury(self, child: Child) -> str:
        """Clean up after a child that has ended; how it did."""
        identity = self._living.pop(child.name, None)
        process = self._own.pop(child.name, None)
        status = process.wait() if process else None
        if identity:
            end_group(identity, self._folder.mark(child.name))
            offer_of(self._folder.home, identity.pid).unlink(missing_ok=True)
        return _ending(status)

    async def _stop(self, child: Child) -> None:
        identity = self._living.get(child.name)
        if identity:
            log.info("stopping %s (pid %d)", child.name, identity.pid)
            await end(identity, self._grace)
            self._bury(child)
        self._forget(child.name)
        prefix = self._folder.leaving(child.name)
        for record in self._folder.all():
            if child.socket and record.name.startswith(prefix):
                await end(record.identity, self._grace)
                self._forget(record.name)

    def _leave(self, child: Child) -> None:
        record = self._folder.read(child.name)
        if record:
            log.info("%s (pid %d) is left to hold callers", child.name, record.pid)
            self.remember(replace(record, is_left=True))


def _ending(status: int | None) -> str:
    """How a child has ended, by what the system says; of one that another supervisor has started it says nothing."""
    if status is None:
        return "has ended"
    if status < 0:
        names = {number.value: number.name for number in signal.Signals}
        return f"was ended by {names.get(-status, f'signal {-status}')}"
    return f"has ended with exit status {status}"


async def supervise(children: Sequence[Child], folder: RunFolder) -> None:
    """Be the supervisor of a home until SIGTERM or SIGINT; raises Refused if there is one already.

    SIGQUIT ends it too, but leaves what has a listening socket to hold callers for a restart.
    """
    with folder.sole_supervisor():
        stop, leave = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGQUIT, leave.set)
        argv, names = tuple(psutil.Process().cmdline()), tuple(child.name for child in children)
        supervisor = Supervisor(children, folder)
        supervisor.remember(RunRecord.of(SUPERVISOR, own_identity(), argv, children=names))
        try:
            await supervisor.run(stop, leave)
        finally:
            folder.forget(SUPERVISOR)


def main() -> None:
    """Entry point of `python -m pods.supervisor`."""
    settings = Settings()
    configure_lines(settings.log_level)
    asyncio.run(supervise(stack(settings), RunFolder(settings.home)))


if __name__ == "__main__":
    main()
