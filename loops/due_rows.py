"""A loop over rows that are due: taken, carried out side by side, and again and again until each has its last word.

What a row asks for is written in the transaction that settles the row, so a process that is killed at any moment
leaves either a row that is still due or one that is done. Several processes may run the same loop side by side.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from domain.errors import Unavailable
from loops.rounds import when_told

RESCAN: Final = 2.0
"""Seconds after which an idle loop looks by itself: a process that was killed told nobody of the rows it had put."""
_SHORTEST: Final = 0.01
HELD: Final = timedelta(seconds=60)
"""How long other processes leave a row alone that this one has taken."""
MAX_ATTEMPTS: Final = 8
"""After so many failures that nobody expected a row fails for good."""
UNTOLD: Final = ""
"""Of rows that nobody tells of: their loop looks by itself."""

log = structlog.get_logger()


class DueRow(Protocol):
    """What a row must have."""

    @property
    def id(self) -> int:
        """Its key."""


Row = TypeVar("Row", bound=DueRow)


class DueRowsLoop(ABC, Generic[Row]):
    """Carries out rows of one kind until it is cancelled."""

    def __init__(self, services: Services, name: str, max_concurrent: int, topic: str = UNTOLD) -> None:
        """`name` says in the log whose rows they are; the loop looks at once when the topic is told."""
        self._services = services
        self._database = services.database
        self._name = name
        self._max_concurrent = max_concurrent
        self._topic = topic
        self._under_way: dict[int, asyncio.Task[None]] = {}

    @abstractmethod
    async def take(self, room: int) -> Sequence[Row]:
        """Rows that are due, held for this process; at most `room` of them are carried out."""

    @abstractmethod
    async def carry_out(self, row: Row) -> None:
        """Do what a row asks for, or have it come again later; what this raises is logged, and the row is due again."""

    async def next_due(self, after: datetime) -> datetime | None:
        """When the next row is due, if that is known; the loop looks every `RESCAN` seconds anyway."""
        del after
        return None

    async def run(self) -> None:
        """Carry out rows for ever."""
        notifications, fault = self._services.notifications, f"the loop of {self._name} stumbled; it goes on"
        try:
            await when_told(notifications, self._topic, self._look, RESCAN, fault, self._under_way.values)
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End what is under way; another process, or the next start, begins it anew."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def start_due(self) -> int:
        """Start what is due, as much as there is room for; how many rows there were."""
        rows = await self._taken()
        for row in rows:
            task = asyncio.create_task(self.carry_out(row))
            self._under_way[row.id] = task
            task.add_done_callback(partial(self._ended, row.id))
        return len(rows)

    async def carry_out_due(self) -> int:
        """Carry out every row that is due and wait for them; how many there were."""
        rows = await self._taken()
        await asyncio.gather(*(self.carry_out(row) for row in rows))
        return len(rows)

    async def _look(self) -> float:
        """Start what is due; seconds until somebody must look again, 0 if there may be more."""
        looked_at = self._services.clock()
        try:
            return 0.0 if await self.start_due() else await self._pause(looked_at)
        except Unavailable as error:
            log.warning("rows wait for the database", of=self._name, error=str(error))
            return RESCAN

    async def _pause(self, looked_at: datetime) -> float:
        due = await self.next_due(looked_at)
        return RESCAN if due is None else min(RESCAN, max(_SHORTEST, (due - self._services.clock()).total_seconds()))

    async def _taken(self) -> Sequence[Row]:
        room = self._max_concurrent - len(self._under_way)
        if room <= 0:
            return ()
        return [row for row in await self.take(room) if row.id not in self._under_way][:room]

    def _ended(self, row_id: int, task: "asyncio.Task[None]") -> None:
        self._under_way.pop(row_id, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("a row is due again later", of=self._name, row=row_id, exc_info=task.exception())


class LockedRowsLoop(DueRowsLoop[Row]):
    """Finds its rows by a statement that locks them, and passes over those that another process has locked.

    They are held while they are carried out where there are other processes, so not on SQLite.
    """

    @abstractmethod
    async def due(self, connection: AsyncConnection, now: datetime, limit: int) -> Sequence[Row]:
        """Rows that are due and that nobody else has."""

    @abstractmethod
    async def hold(self, connection: AsyncConnection, ids: Sequence[int], until: datetime) -> None:
        """Let other processes leave these rows alone for as long."""

    async def take(self, room: int) -> Sequence[Row]:
        """Rows that are due; those that this process has under way may be among them."""
        now = self._services.clock()
        async with self._database.read() as connection:
            rows = await self.due(connection, now, room + len(self._under_way))
        if not rows or self._database.is_sqlite:
            return rows
        async with self._database.write() as connection:
            rows = await self.due(connection, now, room)
            await self.hold(connection, [row.id for row in rows], now + HELD)
        return rows
