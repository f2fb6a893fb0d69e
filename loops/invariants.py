"""The loop that looks whether what must always hold does hold, so that somebody is told before anybody notices.

It looks at some pipelines at a time, and only at those that have not ended or had not at the last look: what has ended
well does not change by itself, and a look at everything (`perdure doctor --deep`) would be in the way of jobs. It only
tells: what is broken is mended by the reconciler and the sweeper, or by people.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

import structlog

from domain.pipelines.invariants import Broken, Limits, Rule, confirmed
from loops.rounds import every
from metrics.server_metrics import ServerMetrics
from models.clock import Clock
from models.repositories.pipelines import invariants, unfinished
from models.session import Database
from settings import TimeLimits

EVERY: Final = 60.0
BETWEEN: Final = 5.0
"""Seconds between two looks at what seems to be broken: it may only be on its way."""
MAX_BATCH: Final = 100
"""So many unfinished pipelines are looked at each time, in turn."""
MAX_BROKEN: Final = 100
"""So many pipelines that were broken are looked at again, until they are not."""
TOLD: Final = tuple(
    rule for rule in Rule if rule not in {Rule.PIPELINE_WITHOUT_WORKFLOW, Rule.WORKFLOW_WITHOUT_PIPELINE}
)
"""Rules about rows; the two about workflows are the reconciler's, which counts what it had to mend."""

log = structlog.get_logger()


class InvariantLoop:
    """Looks at the rules and tells the metrics how many rows break each."""

    def __init__(
        self, database: Database, metrics: ServerMetrics, clock: Clock, times: TimeLimits, between: float = BETWEEN
    ) -> None:
        """Take what the composition root made; what two looks find, `between` seconds apart, is broken."""
        self._database = database
        self._metrics = metrics
        self._clock = clock
        self._limits = Limits(unfolded=3 * times.reconcile_every)
        self._between = between
        self._last = 0
        self._seen: frozenset[int] = frozenset()
        self._broken: dict[int, list[Broken]] = {}

    async def run(self) -> None:
        """Look at once, and then for ever."""
        fault = "the rules could not be looked at; the next look is soon"
        await every(EVERY, self.look, fault, begins_at_once=True)

    async def look(self) -> Sequence[Broken]:
        """Look at the next pipelines; give back what is known to be broken, also of others."""
        chosen = await self._next()
        looked_at = {*chosen, *self._seen, *list(self._broken)[:MAX_BROKEN]}
        found = await self._find(looked_at)
        if found:
            await asyncio.sleep(self._between)
            found = confirmed(found, await self._find({one.pipeline_id for one in found}))
        self._seen = frozenset(chosen)
        self._note(looked_at, found)
        return [one for faults in self._broken.values() for one in faults]

    async def _next(self) -> Sequence[int]:
        async with self._database.read() as connection:
            page = await unfinished.all_after(connection, self._last)
        chosen = page[:MAX_BATCH]
        self._last = chosen[-1] if len(page) > MAX_BATCH else 0
        return chosen

    async def _find(self, pipeline_ids: Collection[int]) -> list[Broken]:
        """One pipeline after the other: others get their turn in between."""
        found: list[Broken] = []
        for pipeline_id in sorted(pipeline_ids):
            async with self._database.read() as connection:
                now = self._clock()
                found += await invariants.broken(connection, now, self._limits, pipeline_id=pipeline_id)
            await asyncio.sleep(0)
        return found

    def _note(self, looked_at: Collection[int], found: Sequence[Broken]) -> None:
        known = {one for faults in self._broken.values() for one in faults}
        for pipeline_id in looked_at:
            self._broken.pop(pipeline_id, None)
        for one in found:
            self._broken.setdefault(one.pipeline_id, []).append(one)
            if one not in known:
                log.error(one.sentence, rule=one.rule, remedy=one.remedy)
        counted = Counter(one.rule for faults in self._broken.values() for one in faults)
        self._metrics.invariants({rule: counted[rule] for rule in TOLD}, self._clock().timestamp())
