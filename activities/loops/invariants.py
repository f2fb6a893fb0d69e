"""The loop that looks whether what must always hold does hold, so that somebody is told before anybody notices.

It only counts: what is broken is mended by the reconciler and the sweeper, or by people.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from metrics.server_metrics import ServerMetrics
from models.clock import Clock
from models.session import Database

EVERY: Final = 60.0

Check: TypeAlias = Callable[[AsyncConnection], Awaitable[Mapping[str, int]]]
"""A look at a database: how many rows break each rule, by the rule's name, zeros too."""

log = structlog.get_logger()


class InvariantLoop:
    """Looks at the rules and tells the metrics."""

    def __init__(self, database: Database, metrics: ServerMetrics, clock: Clock, check: Check) -> None:
        """Take what the composition root made; `check` knows the rules."""
        self._database = database
        self._metrics = metrics
        self._clock = clock
        self._check = check

    async def run(self) -> None:
        """Look at once, and then for ever."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("the rules could not be looked at; the next look is soon")
            await asyncio.sleep(EVERY)

    async def look(self) -> Mapping[str, int]:
        """Look once; give back what was found."""
        async with self._database.read() as connection:
            found = await self._check(connection)
        self._metrics.invariants(found, self._clock().timestamp())
        for rule, rows in found.items():
            if rows:
                log.error("a rule that always holds is broken", rule=rule, rows=rows)
        return found
