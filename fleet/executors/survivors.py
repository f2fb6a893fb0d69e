"""Finds and ends the processes of a job whose runner died, or that left their process group."""

import contextlib
import os
from typing import Final

import psutil

from files.process_start import process_start
from steps.engine.processes import MARK_LOOKS, end_all, marked

MARK: Final = "PERDURE_JOB_MARK"
"""Environment variable whose value tells the processes of one job from all others."""


def has_members(group: int) -> bool:
    """Whether a process group has a process that is no zombie."""
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == group and process_start(pid):
                return True
    return False


def find_survivors(mark: str, group: int = 0, group_start: str = "") -> list[psutil.Process]:
    """Processes that carry the job's mark, and those of its group.

    The group only counts when its leader still has the recorded `process_start`: the kernel uses process ids again.
    """
    return _found(mark, group if _is_ours(group, group_start) else 0)


def end_survivors(mark: str, group: int = 0, group_start: str = "", *, grace: float) -> int:
    """End what `find_survivors` finds, also what it starts meanwhile; how many there were at first.

    A group that was the job's stays so when its leader has ended.
    """
    ours = group if _is_ours(group, group_start) else 0
    return end_all(lambda: _found(mark, ours), grace, looks=MARK_LOOKS)


def _is_ours(group: int, group_start: str) -> bool:
    return bool(group_start) and process_start(group) == group_start


def _found(mark: str, group: int) -> list[psutil.Process]:
    return marked(MARK, mark, lambda pid: bool(group) and os.getpgid(pid) == group)
