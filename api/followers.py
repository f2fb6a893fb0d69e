"""How many streams of events each caller follows at a time."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Final

from domain.errors import TooMany

MAX_OF_CALLER: Final = 50
"""Streams of one caller in this process: a person has one for each open page."""
_NAME: Final = "event_streams"
_AGAIN: Final = 5.0
"""Seconds after which a caller may try again; nobody knows when one of their pages is closed."""


class Followers:
    """Counts the streams of each caller."""

    def __init__(self) -> None:
        """Begin with none."""
        self._open: Counter[str] = Counter()

    def require_room(self, key: str, now: datetime) -> None:
        """Raise `TooMany` for a caller who has all streams that they may have."""
        if self._open[key] >= MAX_OF_CALLER:
            resets_at = now + timedelta(seconds=_AGAIN)
            raise TooMany(_NAME, MAX_OF_CALLER, self._open[key] + 1, _AGAIN, resets_at)

    async def counted(self, key: str, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The same parts, counted as one stream of a caller until they end."""
        self._open[key] += 1
        try:
            async for part in parts:
                yield part
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
