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

from application.bridges import elsewhere
from application.bridges.downstream import Elsewhere, Existing, Wish, wish_of
from application.bridges.targets import Denied
from application.pipelines.prepared import Prepared, save_faulty
from application.services import Services
from domain.pipelines.bridges import CREATION_FAILED
from domain.pipelines.status import Status
from loops.outbox_rows import OutboxRowsLoop
from loops.rounds import every
from models.notifications import BRIDGES, OTHER_PODS
from models.repositories.pipelines import bridges, cross_pod, outbox
from models.repositories.pipelines.bridges import Bridge
from models.rows.outbox import UnsentRow

MAX_CONCURRENT: Final = 16
"""So many rows are carried out side by side: a configuration with remote files may take half a minute."""

log = structlog.get_logger()


class BridgeLoop(OutboxRowsLoop):
    """Carries out the outbox rows of bridges until it is cancelled."""

    def __init__(self, services: Services) -> None:
        """Take what the composition root made."""
        super().__init__(services, "bridges", MAX_CONCURRENT, BRIDGES, outbox.TO_BRIDGES, outbox.BRIDGE)

    async def run(self) -> None:
        """Carry out rows for ever, and look for bridges that fell out of step every now and then."""
        fault = "bridges could not be compared with their pipelines; the next round tries again"
        keeping = asyncio.create_task(every(self._services.settings.times.reconcile_every, self._compare, fault))
        try:
            await super().run()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    async def work(self, row: UnsentRow) -> None:
        """Make a bridge's pipeline, or tell bridges of the one that they follow."""
        if row.kind == outbox.BRIDGE:
            await self._make(row)
        else:
            await self._follow(row)

    async def refuse(self, row: UnsentRow, bridge: Bridge, text: str) -> None:
        """Let a bridge fail."""
        await self._carry_out_wish(row, bridge, Denied(CREATION_FAILED, text))

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
            await self.done(row)
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
        await elsewhere.tell(self._services, [bridge.pipeline.id])
        await self._services.notifications.notify(OTHER_PODS if isinstance(wish, Elsewhere) else BRIDGES)

    async def _record(self, connection: AsyncConnection, bridge: Bridge, wish: Wish, now: datetime) -> int | None:
        """Write pipeline and bridge together; the id of a pipeline that was made."""
        if isinstance(wish, Denied):
            shown = None
            if wish.request is not None:
                shown = await save_faulty(self._services, connection, wish.request, wish.text)
            await bridges.refuse(connection, bridge, wish.reason, wish.text, now, downstream_id=shown)
            return None
        if isinstance(wish, Elsewhere):  # calls of pods that may be away are not this loop's
            await outbox.put(connection, outbox.BRIDGE_ELSEWHERE, bridge.pipeline.id, now, job_ids=[bridge.job.id])
            return None
        if isinstance(wish, Existing):
            await self._follow_existing(connection, bridge, wish.pipeline_id, now)
            return None
        made = await wish.save(self._services, connection)
        if made is not None:
            await bridges.begin(connection, bridge, made, now)
        return made

    async def _follow_existing(
        self, connection: AsyncConnection, bridge: Bridge, pipeline_id: int, now: datetime
    ) -> None:
        known = await cross_pod.downstreams(connection, [pipeline_id]) if self._services.cluster is not None else ()
        if known:
            await elsewhere.begin(connection, bridge, cross_pod.known_state(known[0]), now)
            return
        await bridges.begin(connection, bridge, pipeline_id, now)
        await outbox.put(connection, outbox.FOLLOW, pipeline_id, now)

    async def _follow(self, row: UnsentRow) -> None:
        """The status of a pipeline has changed that a bridge follows."""
        now = self._services.clock()
        async with self._database.write() as connection:
            told = await bridges.tell_followers(connection, row.pipeline_id, row.id, now)
            if told.again:
                await outbox.back_off(connection, row.id, row.attempts, "the end of a bridge is not folded yet", now)
            else:
                await outbox.mark_sent(connection, [row], now)
        await elsewhere.tell(self._services, told.pipelines)
