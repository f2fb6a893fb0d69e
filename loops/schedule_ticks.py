"""The loop that makes the pipelines of ticks: it takes rows that are due, again and again until each has its last word.

The pipeline is written in the transaction that settles its tick, so a process that is killed at any moment leaves
either a tick that is still due or one with its pipeline. Several processes may run the loop side by side.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.pipelines.prepared import Prepared, save_faulty
from application.schedules.scheduled import Failed, Wish, wish_of
from application.services import Services
from domain.errors import StorageFull, Unavailable
from domain.schedules.ticks import Outcome
from loops.due_rows import MAX_ATTEMPTS, LockedRowsLoop
from models.notifications import OUTBOX, TICKS, schedule_topic
from models.repositories.pipelines import schedule_ticks
from models.rows.schedules import ScheduleTickRow

MAX_CONCURRENT: Final = 8
"""So many pipelines are made side by side: many schedules tick at the full hour."""
FAULT: Final = "The server met a fault of its own when it made the pipeline; see its log."


log = structlog.get_logger()


class TickLoop(LockedRowsLoop[ScheduleTickRow]):
    """Makes the pipelines of ticks until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        super().__init__(services, "ticks of schedules", MAX_CONCURRENT, TICKS)

    async def take(self, room: int) -> Sequence[ScheduleTickRow]:
        """Ticks that are due, those whose predecessors have ended among them."""
        await self._release()
        return await super().take(room)

    async def due(self, connection: AsyncConnection, now: datetime, limit: int) -> Sequence[ScheduleTickRow]:
        """Ticks."""
        return await schedule_ticks.due(connection, now, limit)

    async def hold(self, connection: AsyncConnection, ids: Sequence[int], until: datetime) -> None:
        """Keep them from other processes."""
        await schedule_ticks.hold(connection, ids, until)

    async def carry_out(self, row: ScheduleTickRow) -> None:
        """Give a tick its last word, or have it come again later."""
        try:
            await self._make(row)
        except (Unavailable, StorageFull) as error:
            await self._back_off(row, str(error))
        except Exception as error:
            log.exception("the pipeline of a tick could not be made", tick=row.id, schedule=row.schedule_id)
            await self._give_up(row, error)

    async def _release(self) -> None:
        """Ticks whose predecessors have ended have their turn."""
        async with self._database.read() as connection:
            if not await schedule_ticks.waits(connection):
                return
        async with self._database.write() as connection:
            await schedule_ticks.release(connection, self._services.clock())

    async def _make(self, tick: ScheduleTickRow) -> None:
        async with self._database.read() as connection:
            schedule = await schedule_ticks.schedule_of(connection, tick.schedule_id)
        if schedule is not None:  # its ticks have gone with it
            await self._settle(tick, await wish_of(self._services, tick, schedule))

    async def _settle(self, tick: ScheduleTickRow, wish: Wish) -> None:
        """Write pipeline and last word together, if nobody else had it."""
        made = None
        async with self._database.write() as connection:
            if await schedule_ticks.is_due(connection, tick):
                made = await self._record(connection, tick, wish)
        await self._services.notifications.notify(OUTBOX)
        await self._services.notifications.show(schedule_topic(tick.schedule_id))
        if isinstance(wish, Prepared) and made is not None:
            await wish.repository.keep(made, wish.request.sha)

    async def _record(self, connection: AsyncConnection, tick: ScheduleTickRow, wish: Wish) -> int | None:
        now = self._services.clock()
        if isinstance(wish, Prepared):
            made = await wish.save(self._services, connection)
            outcome = Outcome.BY_HAND if tick.by_hand else Outcome.STARTED
            await schedule_ticks.settle(connection, tick.id, outcome, now, pipeline_id=made)
            return made
        shown = None
        if wish.request is not None:
            shown = await save_faulty(self._services, connection, wish.request, wish.reason)
        await schedule_ticks.settle(connection, tick.id, Outcome.FAILED, now, reason=wish.reason, pipeline_id=shown)
        return None

    async def _back_off(self, tick: ScheduleTickRow, reason: str) -> None:
        try:
            async with self._database.write() as connection:
                await schedule_ticks.back_off(connection, tick, reason, self._services.clock())
        except (Unavailable, StorageFull):
            log.warning("a tick waits for the database", tick=tick.id)  # it is due again by itself

    async def _give_up(self, tick: ScheduleTickRow, error: Exception) -> None:
        """A fault that nobody expected: perhaps it passes, if not the tick must not wait for ever."""
        if tick.attempts < MAX_ATTEMPTS:
            await self._back_off(tick, repr(error))
            return
        try:
            await self._settle(tick, Failed(FAULT))
        except (Unavailable, StorageFull):
            await self._back_off(tick, repr(error))
