"""The loop that carries out bridges: it takes their outbox rows, again and again until each is done.

A row goes in the transaction of its effect, so a process that is killed at any moment leaves either the row or the
effect; a pipeline names the bridge that made it, and no two may name the same.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from application.bridges.downstream import Denied, Existing, Wish, wish_of
from application.pipelines.prepared import Prepared
from application.services import Services
from domain.errors import StorageFull, Unavailable
from domain.pipelines.bridges import CREATION_FAILED, TEXT_OF
from domain.pipelines.status import Status
from loops.due_rows import MAX_ATTEMPTS, LockedRowsLoop
from loops.rounds import every
from models.notifications import BRIDGES, OUTBOX, pipeline_topic
from models.repositories.pipelines import bridges, outbox, pipelines
from models.repositories.pipelines.bridges import Bridge
from models.rows.outbox import UnsentRow

MAX_CONCURRENT: Final = 16
"""So many rows are carried out side by side: a configuration with remote files may take half a minute."""
_WATCHERS: Final = 1_000

log = structlog.get_logger()


class BridgeLoop(LockedRowsLoop[UnsentRow]):
    """Carries out the outbox rows of bridges until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        super().__init__(services, "bridges", MAX_CONCURRENT, BRIDGES)

    async def run(self) -> None:
        """Carry out rows for ever, and look for bridges that fell out of step every now and then."""
        fault = "bridges could not be compared with their pipelines; the next round tries again"
        keeping = asyncio.create_task(every(self._services.settings.times.reconcile_every, self._compare, fault))
        try:
            await super().run()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def due(self, connection: AsyncConnection, now: datetime, limit: int) -> Sequence[UnsentRow]:
        """Outbox rows of bridges."""
        return await outbox.unsent(connection, now, limit, outbox.TO_BRIDGES)

    async def hold(self, connection: AsyncConnection, ids: Sequence[int], until: datetime) -> None:
        """Keep them from other processes."""
        await outbox.hold(connection, ids, until)

    async def next_due(self, after: datetime) -> datetime | None:
        """When the next row is due that was not at `after`."""
        async with self._database.read() as connection:
            return await outbox.next_due(connection, after, outbox.TO_BRIDGES)

    async def carry_out(self, row: UnsentRow) -> None:
        """Do what a row asks for, or have it come again later."""
        try:
            if row.kind == outbox.BRIDGE:
                await self._make(row)
            else:
                await self._follow(row)
        except (Unavailable, StorageFull) as error:
            await self._back_off(row, str(error))
        except Exception as error:
            log.exception("a bridge could not be carried out", row=row.id, kind=row.kind, job=row.job_id)
            await self._give_up(row, error)

    async def keep_in_step(self, before: datetime) -> Sequence[int]:
        """Look again at pipelines that were quiet since `before` and that a bridge has not caught up with."""
        now = self._services.clock()
        async with self._database.read() as connection:
            found = await bridges.out_of_step(connection, before)
        if found:
            async with self._database.write() as connection:
                for pipeline_id in found:
                    await outbox.put(connection, outbox.FOLLOW, pipeline_id, now)
            await self._services.notifications.notify(BRIDGES)
        return found

    async def _compare(self) -> None:
        await self.keep_in_step(
            self._services.clock() - timedelta(seconds=self._services.settings.times.reconcile_every)
        )

    async def _make(self, row: UnsentRow) -> None:
        """A bridge has become pending."""
        async with self._database.read() as connection:
            bridge = await bridges.read(connection, row.named_job)
            made = await bridges.made_by(connection, row.named_job)
        if bridge.job.status != Status.PENDING:
            await self._done(row)
            return
        known = bridge.job.downstream_id or made
        wish: Wish = Existing(known) if known is not None else await wish_of(self._services, bridge)
        await self._carry_out_wish(row, bridge, wish)

    async def _carry_out_wish(self, row: UnsentRow, bridge: Bridge, wish: Wish) -> None:
        now, made = self._services.clock(), None
        async with self._database.write() as connection:
            if await bridges.is_pending(connection, bridge.job.id):
                made = await self._record(connection, bridge, wish, now)
            await outbox.mark_sent(connection, [row], now)
        if isinstance(wish, Prepared) and made is not None:
            await wish.repository.keep(made, wish.request.sha)
        await self._tell([bridge.pipeline.id])
        await self._services.notifications.notify(BRIDGES)

    async def _record(self, connection: AsyncConnection, bridge: Bridge, wish: Wish, now: datetime) -> int | None:
        """Write pipeline and bridge together; the id of a pipeline that was made."""
        if isinstance(wish, Denied):
            shown = None
            if wish.request is not None:
                shown = await pipelines.create_ended(
                    connection, wish.request, Status.FAILED, now, reason="config_error", errors=wish.text
                )
            await bridges.refuse(connection, bridge, wish.reason, wish.text, now, downstream_id=shown)
            return None
        if isinstance(wish, Existing):
            await bridges.begin(connection, bridge, wish.pipeline_id, now)
            await outbox.put(connection, outbox.FOLLOW, wish.pipeline_id, now)
            return None
        made = await wish.save(self._services, connection)
        if made is not None:
            await bridges.begin(connection, bridge, made, now)
        return made

    async def _follow(self, row: UnsentRow) -> None:
        """The status of a pipeline has changed that a bridge follows."""
        now = self._services.clock()
        async with self._database.write() as connection:
            told = await bridges.tell_followers(connection, row.pipeline_id, row.id, now)
            if told.again:
                await outbox.back_off(connection, row.id, row.attempts, "the end of a bridge is not folded yet", now)
            else:
                await outbox.mark_sent(connection, [row], now)
        if told.pipelines:
            await self._tell(told.pipelines)

    async def _tell(self, pipeline_ids: Sequence[int]) -> None:
        """Wake the relay, and those who watch these pipelines."""
        await self._services.notifications.notify(OUTBOX)
        for pipeline_id in pipeline_ids:
            await self._services.notifications.notify(pipeline_topic(pipeline_id), count=_WATCHERS)

    async def _done(self, row: UnsentRow) -> None:
        async with self._database.write() as connection:
            await outbox.mark_sent(connection, [row], self._services.clock())

    async def _back_off(self, row: UnsentRow, error: str) -> None:
        try:
            async with self._database.write() as connection:
                await outbox.back_off(connection, row.id, row.attempts, error, self._services.clock())
        except (Unavailable, StorageFull):
            log.warning("a bridge waits for the database", row=row.id)  # it is due again by itself

    async def _give_up(self, row: UnsentRow, error: Exception) -> None:
        """A fault that nobody expected: perhaps it passes, if not the bridge must not wait for ever."""
        if row.kind != outbox.BRIDGE or row.attempts < MAX_ATTEMPTS:
            await self._back_off(row, repr(error))
            return
        text = f"{TEXT_OF[CREATION_FAILED]}: the server met a fault of its own; see its log."
        try:
            async with self._database.read() as connection:
                bridge = await bridges.read(connection, row.named_job)
            await self._carry_out_wish(row, bridge, Denied(CREATION_FAILED, text))
        except (Unavailable, StorageFull):
            await self._back_off(row, repr(error))
