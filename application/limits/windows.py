"""Counts of what happened in the current minute, by key."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 60.0
"""Seconds in which calls are counted."""
_REMEMBERED: Final = 20_000


@dataclass(slots=True)
class _Count:
    """The calls of a window that began at a moment (monotonic seconds)."""

    began: float
    calls: int = 0


class Windows:
    """Counts things by key in windows of a minute, of which it remembers the newest."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives monotonic seconds."""
        self._clock = clock
        self._counts: OrderedDict[bytes, _Count] = OrderedDict()

    def note(self, key: bytes) -> tuple[int, float]:
        """Count one more; how many there are in the window, and in how many seconds it ends."""
        now = self._clock()
        count = self._counts.pop(key, None)
        if count is None or now - count.began >= WINDOW:
            count = _Count(now)
        self._counts[key] = count
        if len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)
        count.calls += 1
        return count.calls, count.began + WINDOW - now
