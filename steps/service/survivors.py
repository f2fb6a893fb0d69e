"""Ends what is left of a run whose process was killed: whatever has the mark of the run in its environment."""

import contextlib

import psutil

from steps.engine.processes import MARK_LOOKS, end_all
from steps.engine.run_process import MARK


def find_survivors(mark: str) -> list[psutil.Process]:
    """Living processes of the run in this folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_survivors(mark: str, grace: float) -> int:
    """End them all, by SIGKILL after `grace` seconds; how many there were at first."""
    return end_all(lambda: find_survivors(mark), grace, looks=MARK_LOOKS)
