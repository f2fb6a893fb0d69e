"""Whatever a run has started, wherever it has gone: found as what this process adopts, and ended.

The process of a run is the one to which the kernel gives what its descendants leave (`PR_SET_CHILD_SUBREAPER`), so all
that is left of them is below it.
"""

import contextlib
import ctypes
import os
import time
from collections.abc import Callable
from typing import Final

import psutil

_SET_CHILD_SUBREAPER: Final = 36
KILL_WAIT: Final = 5.0
"""Seconds to wait for what was killed; what hangs in the kernel is left to it."""
_LOOK: Final = 0.02


def adopt_orphans() -> None:
    """Let this process get what its descendants leave behind. Raises `OSError` where the kernel cannot do so."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def end_descendants(grace: float, meanwhile: Callable[[], None]) -> int:
    """SIGTERM to all descendants of this process, SIGKILL after `grace` seconds to what is left; how many were killed.

    `meanwhile` is called again and again: they may have something to say while they end. Processes that are started
    while others are ended are found, too.
    """
    told: set[tuple[int, float]] = set()
    killed: set[tuple[int, float]] = set()
    deadline = time.monotonic() + grace
    while living := _living():
        now = time.monotonic()
        if now > deadline + KILL_WAIT:
            break
        for process in living:
            key = process.pid, process.create_time()
            with contextlib.suppress(psutil.Error):
                if now >= deadline:
                    process.kill()
                    killed.add(key)
                elif key not in told:
                    told.add(key)
                    process.terminate()
        meanwhile()
        time.sleep(_LOOK)
    return len(killed)


def _living() -> list[psutil.Process]:
    """Descendants that are no zombies; those that are and belong to this process are reaped."""
    _reap()
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
