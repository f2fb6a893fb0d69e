"""Calls that wait in the front while the API is away: how many, in which order they go on, who has to give way.

One probe asks for all of them whether the API is back. Their bodies are not read meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from pods.patience import Patience
from pods.upstream import Away
from settings import FrontLimits

TOGETHER: Final = 64
"""How many go on at once when the API is back: it has just started, and so many come at a time that it can serve."""
BETWEEN: Final = 0.05
"""Seconds between two such groups."""

log = logging.getLogger("perdure.front")


@dataclass(slots=True, eq=False)
class _Place:
    """One call that waits; `number` says when it came, `size` how many bytes of its body have come with it."""

    patience: Patience
    number: int
    size: int
    turn: "asyncio.Future[None]" = field(repr=False)


class Holding:
    """The places in which calls wait until the API answers."""

    def __init__(self, limits: FrontLimits, most: int, is_back: Callable[[], Awaitable[bool]]) -> None:
        """`most`: so many calls are held at once; `is_back` asks the API."""
        self._every = limits.probe_every
        self._most = most
        self._memory = limits.held_memory
        self._is_back = is_back
        self._waiting: list[_Place] = []
        self._numbers = count()
        self._probing: asyncio.Task[None] | None = None
        self.is_away = False
        """What is known of the API; only who comes to wait asks it."""

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    async def wait(self, patience: Patience, deadline: float, size: int = 0) -> None:
        """Wait until the API is back; raises Away at `deadline` (of the loop's clock), or when there is no place.

        `size`: bytes of the body that are here already.
        """
        loop = asyncio.get_running_loop()
        self._make_room(patience, size)
        place = _Place(patience, next(self._numbers), size, loop.create_future())
        self._waiting.append(place)
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe())
        try:
            async with asyncio.timeout_at(deadline):
                await place.turn
        except TimeoutError as error:
            raise Away(f"it was away for all of {patience.hold:g} s", unprocessed=True) from error
        finally:
            if place in self._waiting:
                self._waiting.remove(place)

    def let_go(self, reason: str) -> None:
        """Send everybody away who waits: they get their 503."""
        for place in list(self._waiting):
            self._send_away(place, reason)

    async def close(self) -> None:
        """Hold nobody any more."""
        self.let_go("the front stops")
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)

    def _make_room(self, patience: Patience, size: int) -> None:
        """Take the places of the oldest calls of the least worth, if they are worth no more than the one that comes."""
        while len(self._waiting) >= self._most:
            self._replace(self._waiting, patience, f"{self._most} calls are held (PERDURE_FRONT_HELD)")
        while size and sum(place.size for place in self._waiting) + size > self._memory:
            large = [place for place in self._waiting if place.size]
            self._replace(large, patience, f"bodies hold {self._memory} bytes (PERDURE_FRONT_HELD_MEMORY)")

    def _replace(self, among: Sequence[_Place], patience: Patience, reason: str) -> None:
        oldest = min(among, key=lambda place: (place.patience.worth, place.number), default=None)
        if oldest is None or oldest.patience.worth > patience.worth:
            raise Away(f"there is no place: {reason}", unprocessed=True)
        self._send_away(oldest, f"another call took its place: {reason}")

    def _send_away(self, place: _Place, reason: str) -> None:
        self._waiting.remove(place)
        if not place.turn.done():
            place.turn.set_exception(Away(reason, unprocessed=True))

    async def _probe(self) -> None:
        """Ask until the API is back, then let all go on, those of the most worth first; ends when nobody waits."""
        while self._waiting:
            if not await self._is_back():
                self.is_away = True
                await asyncio.sleep(self._every)
                continue
            if self.is_away:
                log.info("the API is back; %d calls that were held go on", len(self._waiting))
            self.is_away = False
            while self._waiting and not self.is_away:
                order = sorted(self._waiting, key=lambda place: (-place.patience.worth, place.number))
                for place in order[:TOGETHER]:
                    self._waiting.remove(place)
                    if not place.turn.done():
                        place.turn.set_result(None)
                await asyncio.sleep(BETWEEN)
