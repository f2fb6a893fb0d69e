"""Finds and ends the processes of a job whose runner died, or that left their process group."""

import contextlib
import os
import time
from typing import Final

import psutil

MARK: Final = "PERDURE_JOB_MARK"
"""Environment variable whose value tells the processes of one job from all others."""

KILL_WAIT: Final = 5.0
"""Seconds to wait for a killed process; one that hangs in the kernel is left to it."""

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
    own_group = bool(group) and abs(start_time(group) - group_started) < SAME_START
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if (own_group and os.getpgid(process.pid) == group) or process.environ().get(MARK) == mark:
                found.append(process)
    return found


def end_survivors(mark: str, group: int = 0, group_started: float = 0.0, *, grace: float) -> int:
    """End what `find_survivors` finds; how many there were."""
    found = find_survivors(mark, group, group_started)
    end_processes(found, grace)
    return len(found)


def end_processes(processes: list[psutil.Process], grace: float) -> None:
    """SIGTERM to all, SIGKILL after `grace` seconds to those still there; returns when they are gone."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    deadline = time.monotonic() + grace
    while processes := [process for process in processes if _alive(process)]:
        if time.monotonic() >= deadline + KILL_WAIT:
            return
        if time.monotonic() >= deadline:
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        time.sleep(0.05)


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
