"""Why a run has to end before its steps have: it is cancelled, its time is over, or its log is full."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LOG_FULL = "log_full"


class Ended(Exception):
    """The run has to end; nothing more is started."""

    def __init__(self, reason: Reason) -> None:
        """Keep why."""
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Ending:
    """Is told to end by a signal, by the time, or by whoever writes the log; whoever waits is woken through `fd`."""

    deadline: float | None = None
    """Of `time.monotonic()`."""
    reason: Reason | None = None
    fd: int = -1

    @property
    def is_due(self) -> bool:
        """Whether the run has to end."""
        if self.reason is None and self.deadline is not None and time.monotonic() >= self.deadline:
            self.reason = Reason.TIMED_OUT
        return self.reason is not None

    @property
    def left(self) -> float | None:
        """Seconds until the time is over; None where there is no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def end(self, reason: Reason) -> None:
        """Let the run end; the first reason counts."""
        self.reason = self.reason or reason

    def check(self) -> None:
        """Raise `Ended` where the run has to end."""
        if self.is_due:
            assert self.reason is not None  # `is_due` says so
            raise Ended(self.reason)


@contextmanager
def ended_by_signals(ending: Ending) -> Iterator[None]:
    """SIGTERM and SIGINT cancel the run for as long as the block lasts. Only for the main thread of a process."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before_fd = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: ending.end(Reason.CANCELLED)) for number in numbers}
    ending.fd = reading
    try:
        yield
    finally:
        ending.fd = -1
        signal.set_wakeup_fd(before_fd)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)
