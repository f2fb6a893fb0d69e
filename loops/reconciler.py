"""The reconciler: compares unfinished pipelines in SQL with what Temporal runs, and mends the difference.

SQL alone rebuilds an empty Temporal. A workflow that was terminated by hand is settled as canceled instead. One that is
open although its pipeline has ended waits for a retry and is left alone; it is told only if SQL says otherwise.

One look costs a call or two as long as all is well: visibility lists the workflows that run. It may be some seconds
behind, so it is only a hint; whatever is not in its list is described before anything is done.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog
from temporalio.service import RPCError

from domain.messages import Operation, PipelineFacts
from domain.pipelines.status import COMPLETE
from loops.rounds import every
from metrics.server_metrics import ServerMetrics
from models.clock import Clock
from models.notifications import OUTBOX, Notifications
from models.repositories.pipelines import pipelines, resource_groups, unfinished
from models.session import Database
from settings import TimeLimits
from workflows.handles import Pipelines
from workflows.runs import MOVED, Run

MAX_CONCURRENT: Final = 20
"""So many workflows are looked at in parallel."""
YOUNG: Final = 5.0
"""Seconds in which a new pipeline is left to those who start it."""

log = structlog.get_logger()


class Reconciler:
    """Starts again what Temporal lost, and settles what was terminated."""

    def __init__(
        self,
        database: Database,
        workflows: Pipelines,
        notifications: Notifications,
        clock: Clock,
        times: TimeLimits,
        metrics: ServerMetrics | None = None,
    ) -> None:
        """Take what the composition root made."""
        self._metrics = metrics or ServerMetrics()
        self._database = database
        self._workflows = workflows
        self._notifications = notifications
        self._clock = clock
        self._every = times.reconcile_every
        self._told: dict[int, int] = {}

    async def run(self) -> None:
        """Reconcile for ever."""
        await every(self._every, self._counted, "reconciling failed; the next round tries again")

    async def _counted(self) -> None:
        try:
            self._metrics.reconciliation("done", len(await self.reconcile()))
        except Exception:
            self._metrics.reconciliation("failed")
            raise

    async def reconcile(self) -> list[int]:
        """Look at every pipeline that has not ended, and at those with a verdict that nobody has folded.

        Gives back those that were mended.
        """
        now = self._clock()
        async with self._database.read() as connection:
            unfolded = await unfinished.unfolded(connection, now - timedelta(seconds=self._every))
        self._told = {pipeline_id: row for pipeline_id, row in self._told.items() if unfolded.get(pipeline_id) == row}
        news = set(unfolded) - set(self._told)
        old_enough = now - timedelta(seconds=min(YOUNG, self._every))
        running: set[int] | None = None
        looked_at: set[int] = set()
        mended: list[int] = []
        last = 0
        while page := await self._page(old_enough, last):
            running = await self._workflows.runs.at_work() if running is None else running
            suspects = [pipeline_id for pipeline_id in page if pipeline_id not in running or pipeline_id in news]
            mended += await self._mend_all(suspects, news)
            looked_at.update(page)
            last = page[-1]
        mended += await self._mend_all(sorted(news - looked_at), news)
        self._told |= {pipeline_id: unfolded[pipeline_id] for pipeline_id in mended if pipeline_id in unfolded}
        await self._look_at_groups()
        return mended

    async def _look_at_groups(self) -> None:
        """Resource groups that somebody waits for look again, also those whose workflow Temporal has lost."""
        async with self._database.read() as connection:
            waited_for = await resource_groups.waited_for(connection)
        for start in range(0, len(waited_for), MAX_CONCURRENT):
            await asyncio.gather(*(self._workflows.look(group) for group in waited_for[start : start + MAX_CONCURRENT]))

    async def _page(self, before: datetime, after: int) -> Sequence[int]:
        async with self._database.read() as connection:
            return await unfinished.page(connection, before, after)

    async def _mend_all(self, suspects: Sequence[int], unfolded: set[int]) -> list[int]:
        mended: list[int] = []
        for start in range(0, len(suspects), MAX_CONCURRENT):
            batch = suspects[start : start + MAX_CONCURRENT]
            results = await asyncio.gather(*(self._try_to_mend(each, each in unfolded) for each in batch))
            mended += [pipeline_id for pipeline_id, done in zip(batch, results, strict=True) if done]
        return mended

    async def _try_to_mend(self, pipeline_id: int, has_unfolded: bool) -> bool:
        """Whether the pipeline needed mending and was mended; one that cannot be does not keep others from it."""
        try:
            return await self._mend(pipeline_id, has_unfolded)
        except RPCError as error:
            log.warning(
                "a pipeline could not be reconciled; the next round tries", pipeline=pipeline_id, error=str(error)
            )
            return False

    async def _mend(self, pipeline_id: int, has_unfolded: bool) -> bool:
        run = await self._workflows.runs.latest(pipeline_id)
        if run is not None and run.is_open and not run.in_window and not has_unfolded:
            return False
        async with self._database.read() as connection:
            facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
        is_complete = facts.status in COMPLETE
        if is_complete and not has_unfolded:
            return False  # it has ended since it was read
        by_hand = ""
        if run is not None and run.is_terminated and not is_complete:
            by_hand = await self._workflows.runs.termination(facts.pipeline_id, run.id)
        if run is not None and by_hand and MOVED not in by_hand:
            await self._settle(facts, run, by_hand)
        else:
            state = "unknown" if run is None else run.status
            state = "waits for a retry" if run is not None and run.in_window else state
            log.warning("the pipeline is reconciled with SQL", pipeline=pipeline_id, workflow=state)
            await self._workflows.signal(facts, "reconcile", Operation())
        await self._notifications.notify(OUTBOX)
        return True

    async def _settle(self, facts: PipelineFacts, run: Run, reason: str) -> None:
        """Cancel a terminated pipeline. The key is the run's: what is tried again later has another run."""
        log.warning("the workflow was terminated by hand; its pipeline is canceled", pipeline=facts.pipeline_id)
        await self._workflows.signal(facts, "cancel_pipeline", Operation(key=f"terminated-{run.id}", reason=reason))
