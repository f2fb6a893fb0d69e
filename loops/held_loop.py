"""For how long this process has held up its own event loop: a sweeper must not take that for an outage."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

EVERY: Final = 0.5
"""Seconds between two looks."""


class HeldLoop:
    """Counts what its looks came too late because the process computed; not what it slept, was stopped, or waited."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, computed: Callable[[], float] = time.process_time
    ) -> None:
        """Both tell seconds: those that pass, and those that this process computes."""
        self._clock = clock
        self._computed = computed
        self._total = 0.0
        self._begin()

    async def run(self) -> None:
        """Look for ever."""
        self._begin()
        while True:
            await asyncio.sleep(EVERY)
            self.look()

    def look(self) -> None:
        """Count how late this look is."""
        self._total = self.seconds()
        self._begin()

    def seconds(self) -> float:
        """In all, until this moment: whoever asks may be called before the look that is late."""
        late = self._clock() - self._due
        return self._total + max(0.0, min(late, self._computed() - self._computed_before))

    def _begin(self) -> None:
        self._due = self._clock() + EVERY
        self._computed_before = self._computed()
