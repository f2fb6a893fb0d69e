"""Figures that take a while to read, such as those of a database: read when they are asked for, and not too often."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from metrics.sampled import Reading

FRESH: Final = 10.0
"""Seconds for which the figures are told again without another look."""
LIMIT: Final = 2.0
"""Seconds that a look may take; then the figures before it are told."""
STALE: Final = 60.0
"""Seconds after which they are told no more."""


class Measured:
    """The figures of one source, for the metrics of one process."""

    def __init__(
        self, read: Callable[[], Awaitable[Reading]], failed: Callable[[Exception], None], fresh: float = FRESH
    ) -> None:
        """Nothing is read before somebody asks; `failed` is told why a look was in vain."""
        self._read = read
        self._failed = failed
        self._fresh = fresh
        self._reading: Reading = {}
        self._read_at = float("-inf")
        self._one_at_a_time = asyncio.Lock()

    async def refresh(self) -> None:
        """Read them anew unless they are fresh; never raises."""
        async with self._one_at_a_time:
            if time.monotonic() - self._read_at < self._fresh:
                return
            try:
                async with asyncio.timeout(LIMIT):
                    self._reading = await self._read()
                self._read_at = time.monotonic()
            except Exception as error:  # noqa: BLE001  # whatever it is: the other metrics are told all the same
                self._failed(error)

    def now(self) -> Reading:
        """The figures as they were read last; old ones would be taken for the truth."""
        return self._reading if time.monotonic() - self._read_at < STALE else {}
