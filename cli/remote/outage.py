"""Waiting for a server that is away: what is followed goes on where it was, until patience ends."""

import time
from typing import Final

from cli.exit_codes import TimedOut
from cli.output import Output
from domain.errors import Unavailable

PATIENCE: Final = "10m"
"""How long a server may be away while something is followed, unless the person says otherwise."""
_FIRST: Final = 0.25
_MAX_PAUSE: Final = 5.0
"""Seconds between two tries."""


class Outage:
    """Counts how long a server has been away. One that never answered is not waited for."""

    def __init__(self, out: Output, patience: float) -> None:
        """Tell of it on `out`; give up after `patience` seconds."""
        self._out = out
        self._patience = patience
        self._since: float | None = None
        self._pause = _FIRST
        self._answered = False

    def answered(self) -> None:
        """The server is there."""
        if self._since is not None:
            self._out.words(f"The server is back after {time.monotonic() - self._since:.0f} s.")
        self._answered, self._since, self._pause = True, None, _FIRST

    def wait(self, error: Unavailable, deadline: "Deadline") -> None:
        """Wait a moment before the next try. Raises the error when patience is at its end, `TimedOut`."""
        now = time.monotonic()
        if not self._answered:
            raise error
        if self._since is None:
            self._since = now
            self._out.words(f"{error} Trying again for {self._patience:g} s.")
        if now - self._since >= self._patience:
            raise error
        deadline.sleep(self._pause)
        self._pause = min(_MAX_PAUSE, self._pause * 2)


class Deadline:
    """The moment at which `--timeout` ends a command; never without one."""

    def __init__(self, seconds: float | None, what: str) -> None:
        """`what` is still going on then, as the error says."""
        self._seconds = seconds
        self._what = what
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then."""
        return float("inf") if self._end is None else self._end - time.monotonic()

    def check(self) -> None:
        """Raise `TimedOut` if it is over."""
        if self.left <= 0:
            raise TimedOut(f"{self._what} did not end within {self._seconds:g} s; it goes on.")

    def sleep(self, seconds: float) -> None:
        """Sleep so long, but not over the end. Raises `TimedOut`."""
        self.check()
        time.sleep(min(seconds, max(0.0, self.left)))
        self.check()
