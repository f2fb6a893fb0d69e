"""Calls that wait in the front while the API is away: how many, in which order they go on, who has to give way.

One probe asks for all of them whether the API is back. Their bodies are not read meanwhile.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from domain.client_network import network_of
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
    """One call that waits, or wants to.

    `number` says when it came, `size` how many bytes of its body have come with it, `client` from where.
    """

    patience: Patience
    number: int
    size: int
    client: bytes
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

    async def wait(self, patience: Patience, deadline: float, size: int = 0, address: str = "") -> None:
        """Wait until the API is back; raises Away at `deadline` (of the loop's clock), or when there is no place.

        `size`: bytes of the body that are here already; `address`: of the client.
        """
        turn = asyncio.get_running_loop().create_future()
        place = _Place(patience, next(self._numbers), size, network_of(address), turn)
        self._make_room(place)
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

    def resize(self, most: int) -> None:
        """So many are held at once from now on; those that wait already stay."""
        self._most = most

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

    def _make_room(self, coming: _Place) -> None:
        """Make room for a call; raises Away if it is the one that gives way."""
        while len(self._waiting) >= self._most:
            among = [*self._waiting, coming]
            held = Counter(place.client for place in among)
            self._replace(among, held, coming, f"{self._most} calls are held (PERDURE_FRONT_HELD)")
        while coming.size and sum(place.size for place in self._waiting) + coming.size > self._memory:
            among = [place for place in (*self._waiting, coming) if place.size]
            held = Counter()
            for place in among:
                held[place.client] += place.size
            self._replace(among, held, coming, f"bodies hold {self._memory} bytes (PERDURE_FRONT_HELD_MEMORY)")

    def _replace(self, among: Sequence[_Place], held: Mapping[bytes, int], coming: _Place, reason: str) -> None:
        """Of the least worth, the oldest call of the client that has `held` the most gives way.

        What is worth more gives way for nobody's sake: a result of a job is lost for good.
        """
        first = min(among, key=lambda place: (place.patience.worth, -held[place.client], place.number))
        if first is coming:
            raise Away(f"there is no place: {reason}", unprocessed=True)
        self._send_away(first, f"another call took its place: {reason}")

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
