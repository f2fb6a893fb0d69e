"""Finds and ends the processes of a job whose runner died, or that left their process group."""

import contextlib
import os
from typing import Final

import psutil

from steps.engine.processes import MARK_LOOKS, end_all, marked

MARK: Final = "PERDURE_JOB_MARK"
"""Environment variable whose value tells the processes of one job from all others."""

SAME_START: Final = 0.05
"""Two start times (seconds) so near are the same: the kernel counts in hundredths."""


def start_time(pid: int) -> float:
    """When a process started, seconds since the epoch; 0 when it does not exist or is a zombie."""
    try:
        process = psutil.Process(pid)
        return 0.0 if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return 0.0


def has_members(group: int) -> bool:
    """Whether a process group has a process that is no zombie."""
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == group and start_time(pid):
                return True
    return False


def find_survivors(mark: str, group: int = 0, group_started: float = 0.0) -> list[psutil.Process]:
    """Processes that carry the job's mark, and those of its group.

    The group only counts when its leader still has the recorded start time: the kernel uses process ids again.
    """
    return _found(mark, group if _is_ours(group, group_started) else 0)


def end_survivors(mark: str, group: int = 0, group_started: float = 0.0, *, grace: float) -> int:
    """End what `find_survivors` finds, also what it starts meanwhile; how many there were at first.

    A group that was the job's stays so when its leader has ended.
    """
    ours = group if _is_ours(group, group_started) else 0
    return end_all(lambda: _found(mark, ours), grace, looks=MARK_LOOKS)


def _is_ours(group: int, group_started: float) -> bool:
    return bool(group) and abs(start_time(group) - group_started) < SAME_START


def _found(mark: str, group: int) -> list[psutil.Process]:
    return marked(MARK, mark, lambda pid: bool(group) and os.getpgid(pid) == group)
