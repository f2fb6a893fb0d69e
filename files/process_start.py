"""When a process started, told so that it stays true when the wall clock is set.

A pid alone means nothing, because the system gives it to the next process: a process is known by its pid and its start
together. The start in seconds since 1970 is no help. Linux derives it from the wall clock (proc(5), "btime"), so it
moves whenever that is set: by NTP, or when a machine wakes or is moved. What it counts from its boot stays.
"""

from functools import cache
from pathlib import Path
from typing import Final

import psutil

_PROC: Final = Path("/proc")
_START: Final = 22
"""The field of `/proc/<pid>/stat`, from 1: ticks from the boot to the start of the process (proc(5))."""
_AFTER_NAME: Final = 3
"""The field that follows the name, the only one in which blanks may be: the state, a letter."""
_ENDED: Final = frozenset({b"Z", b"X"})
_CLOCK_SLACK: Final = 2.0
"""Seconds by which two readings of one start time may differ where it is derived from the wall clock."""


def process_start(pid: int) -> str:
    """What tells the process that has this pid from all others that had it or will; empty if it is none or a zombie."""
    boot = _boot()
    if not boot:
        started = _seconds(pid)
        return f"seconds:{started!r}" if started else ""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in _ENDED else f"{boot}:{int(fields[_START - _AFTER_NAME])}"


def start_noted_in_seconds(pid: int, seconds: float) -> str:
    """`process_start` of the process of which an earlier version noted its start in seconds since 1970; else empty."""
    return process_start(pid) if abs(_seconds(pid) - seconds) <= _CLOCK_SLACK else ""


def _seconds(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


@cache
def _boot() -> str:
    """The id of this boot; empty on systems other than Linux, which note the wall clock at the start of a process."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
