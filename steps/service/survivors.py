"""Ends what is left of a run whose process was killed: whatever has the mark of the run in its environment."""

import contextlib
import time
from typing import Final

import psutil

from steps.engine.run_process import MARK

KILL_WAIT: Final = 5.0
"""Seconds to wait for what was killed; what hangs in the kernel is left to it."""
_LOOK: Final = 0.05


def find_survivors(mark: str) -> list[psutil.Process]:
    """Living processes of the run in this folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_survivors(mark: str, grace: float) -> int:
    """SIGTERM to all, SIGKILL after `grace` seconds, until none is found any more; how many there were at first."""
    found = find_survivors(mark)
    count, deadline, told = len(found), time.monotonic() + grace, set()
    while found and time.monotonic() < deadline + KILL_WAIT:
        is_over = time.monotonic() >= deadline
        for process in found:
            with contextlib.suppress(psutil.Error):
                if is_over:
                    process.kill()
                elif process not in told:
                    told.add(process)
                    process.terminate()
        time.sleep(_LOOK)
        found = find_survivors(mark)
    return count
