"""The reconciler: compares unfinished pipelines in SQL with what Temporal runs, and mends the difference.

SQL alone rebuilds an empty Temporal. A workflow that was terminated by hand is settled as canceled instead.
"""

import asyncio
from datetime import timedelta
from uuid import uuid4

import structlog
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from domain.messages import Operation
from models.clock import Clock
from models.notifications import OUTBOX, Notifications
from models.repositories import outbox, pipelines
from models.session import Database
from settings import TimeLimits
from workflows.handles import Pipelines

AT_ONCE = 20
"""So many workflows are looked at in parallel."""

log = structlog.get_logger()


class Reconciler:
    """Starts again what Temporal lost."""

    def __init__(
        self,
        database: Database,
        workflows: Pipelines,
        notifications: Notifications,
        clock: Clock,
        times: TimeLimits,
    ) -> None:
        """Take what the composition root made."""
        self._database = database
        self._workflows = workflows
        self._notifications = notifications
        self._clock = clock
        self._every = times.reconcile_every

    async def run(self) -> None:
        """Reconcile for ever."""
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.reconcile()
            except Exception:
                log.exception("reconciling failed; the next round tries again")

    async def reconcile(self) -> list[int]:
        """Look at every pipeline that has been quiet for a while; give back those that were mended."""
        before = self._clock() - timedelta(seconds=self._every)
        async with self._database.read() as connection:
            quiet = await pipelines.unfinished(connection, before)
            unfolded = set(await outbox.unfolded_since(connection, before))
        mended: list[int] = []
        for start in range(0, len(quiet), AT_ONCE):
            batch = quiet[start : start + AT_ONCE]
            results = await asyncio.gather(*(self._mend(pipeline_id, unfolded) for pipeline_id in batch))
            mended += [pipeline_id for pipeline_id, done in zip(batch, results, strict=True) if done]
        return mended

    async def _mend(self, pipeline_id: int, unfolded: set[int]) -> bool:
        status = await self._status(pipeline_id)
        if status is WorkflowExecutionStatus.TERMINATED:
            log.warning("the workflow was terminated by hand; its pipeline is canceled", pipeline=pipeline_id)
            await self._signal(pipeline_id, "cancel_pipeline", Operation(key=f"terminated-{uuid4()}"))
            return True
        if status is WorkflowExecutionStatus.RUNNING and pipeline_id not in unfolded:
            return False
        log.warning("the pipeline is reconciled with SQL", pipeline=pipeline_id, workflow=str(status))
        await self._signal(pipeline_id, "reconcile", Operation())
        return True

    async def _status(self, pipeline_id: int) -> WorkflowExecutionStatus | None:
        """What Temporal says of the latest run; None when it knows of none."""
        try:
            return (await self._workflows.handle(pipeline_id).describe()).status
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def _signal(self, pipeline_id: int, name: str, operation: Operation) -> None:
        async with self._database.read() as connection:
            facts = await pipelines.facts_of(connection, [pipeline_id])
        await self._workflows.signal(facts[pipeline_id], name, operation)
        await self._notifications.notify(OUTBOX)
