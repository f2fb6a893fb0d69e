"""Whatever a run has started, wherever it has gone, is ended: what this process adopts, or what others find.

The process of a run is the one to which the kernel gives what its descendants leave (`PR_SET_CHILD_SUBREAPER`), so all
that is left of them is below it.
"""

import contextlib
import ctypes
import os
import time
from collections.abc import Callable, Sequence
from typing import Final

import psutil

_SET_CHILD_SUBREAPER: Final = 36
KILL_WAIT: Final = 5.0
"""Seconds to wait for what was killed; what hangs in the kernel is left to it."""
_LOOK: Final = 0.02
MARK_LOOKS: Final = 3
"""Looks at the environment of every process of the machine, which take a while, before none is taken to be left."""


def adopt_orphans() -> None:
    """Let this process get what its descendants leave behind. Raises `OSError` where the kernel cannot do so."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def end_descendants(grace: float, meanwhile: Callable[[], None]) -> None:
    """End all descendants of this process; `meanwhile` is called again and again: they may say something yet."""
    end_all(_living, grace, meanwhile)


def end_all(
    find: Callable[[], Sequence[psutil.Process]],
    grace: float,
    meanwhile: Callable[[], None] = lambda: None,
    looks: int = 1,
) -> int:
    """SIGTERM to all that are found, SIGKILL after `grace` seconds, until none is; how many there were at first.

    It is asked again and again: processes that are started while others are ended are found, too. So many `looks` in a
    row must find none: one that takes its time misses what has just taken the place of another.
    """
    count, empty, deadline = 0, 0, time.monotonic() + grace
    told: set[psutil.Process] = set()
    while time.monotonic() <= deadline + KILL_WAIT:
        found = find()
        count, empty = count or len(found), 0 if found else empty + 1
        if empty >= looks:
            break
        is_over = time.monotonic() >= deadline
        for process in found:
            with contextlib.suppress(psutil.Error):
                if is_over:
                    process.kill()
                elif process not in told:
                    told.add(process)
                    process.terminate()
        meanwhile()
        time.sleep(_LOOK)
    return count


def marked(name: str, value: str, also: Callable[[int], bool] = lambda _: False) -> list[psutil.Process]:
    """Living processes of the machine that have this variable in their environment, or of which `also` says so."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            is_one = also(process.pid) or process.environ().get(name) == value
            if is_one and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


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
