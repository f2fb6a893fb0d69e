"""Processes that may outlive whoever started them: who they are, whether they live, when they end, how they are ended.

A process is known by pid and start together (`files.process_start`), and no signal goes to one that differs in either.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Collection
from dataclasses import dataclass, field

import psutil

from files.process_start import process_start

MARK = "PERDURE_SUPERVISED"
"""Environment variable of supervised processes, `<home>:<name>`: it finds those whose record was never written."""
LOOK_EVERY = 0.2
"""How often a process is looked at where the system cannot report its end."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A process; `start` is its `process_start`, empty where one that was noted is gone.

    `create_time` is for people: seconds since 1970, by the wall clock of when it was asked.
    """

    pid: int
    start: str
    create_time: float = field(compare=False)


def identity_of(pid: int) -> Identity | None:
    """The process that has this pid now; None if there is none or it has ended and waits to be reaped."""
    start = process_start(pid)
    try:
        return Identity(pid, start, psutil.Process(pid).create_time()) if start else None
    except psutil.Error:
        return None


def own_identity() -> Identity:
    """This process."""
    pid = os.getpid()
    return Identity(pid, process_start(pid), psutil.Process(pid).create_time())


def is_alive(identity: Identity) -> bool:
    """Does this very process still run?"""
    return bool(identity.start) and process_start(identity.pid) == identity.start


def is_marked(identity: Identity, mark: str) -> bool:
    """Does this very process still run, and was it started with `MARK` set to `mark`?"""
    try:
        return is_alive(identity) and psutil.Process(identity.pid).environ().get(MARK) == mark
    except (psutil.Error, OSError):
        return False


def find_marked(mark: str, argv: tuple[str, ...], but: Collection[int] = ()) -> Identity | None:
    """The living process that was started as `argv` with `MARK` set to `mark`, leading a session of its own.

    `but`: not the processes with these pids.
    """
    for process in psutil.process_iter():
        if process.pid in but:
            continue
        with contextlib.suppress(psutil.Error, OSError):
            # Descendants inherit the mark, so the mark alone would find a job's daemon as well.
            leads = os.getsid(process.pid) == process.pid
            if leads and process.environ().get(MARK) == mark and tuple(process.cmdline()) == argv:
                return identity_of(process.pid)
    return None


def send(identity: Identity, number: signal.Signals) -> bool:
    """Send a signal to this very process; False if it does not run any more."""
    if not hasattr(os, "pidfd_open"):
        if not is_alive(identity):
            return False
        os.kill(identity.pid, number)
        return True
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        # The handle stays with the process it was opened for, so nothing can slip in after the comparison.
        if not is_alive(identity):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


async def exited(identity: Identity) -> None:
    """Return when the process has ended; it need not be a child of this one."""
    if not hasattr(os, "pidfd_open"):
        while is_alive(identity):  # noqa: ASYNC110  # such a system reports the end of children only
            await asyncio.sleep(LOOK_EVERY)
        return
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    try:
        if is_alive(identity):
            loop.add_reader(handle, ended.set)
            await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def end_group(identity: Identity, mark: str) -> None:
    """Kill what a supervised process left behind in its process group.

    A pool worker of a killed process would otherwise hold its listening socket, and the next start would fail.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            member = os.getpgid(process.pid) == identity.pid == os.getsid(process.pid)
            if member and process.pid != identity.pid and process.environ().get(MARK) == mark:
                process.kill()


async def end(identity: Identity, grace: float, ask: signal.Signals = signal.SIGTERM) -> None:
    """End the process: `ask`, and SIGKILL if it still runs after `grace` seconds. Returns when it has ended."""
    if not send(identity, ask):
        return
    try:
        async with asyncio.timeout(grace):
            await exited(identity)
    except TimeoutError:
        send(identity, signal.SIGKILL)
        await exited(identity)
