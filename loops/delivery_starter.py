"""The loop that has others told: it starts the workflow of each delivery, each report and each message that is due.

What is due is in SQL, written with what happened. A row that Temporal took is looked at again some minutes after its
next attempt is due: a workflow that was lost with Temporal's store, or terminated, is started again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

import structlog
from temporalio.service import RPCError

from domain.errors import Unavailable
from loops.rounds import when_told
from models.clock import Clock
from models.notifications import HOOKS, Notifications
from models.repositories.due_rows import DueRows
from models.repositories.hooks import commit_reports, hook_deliveries
from models.repositories.notifications import messages
from models.session import Database
from settings import TimeLimits
from workflows.handles import Pipelines

BATCH: Final = 200
IDLE: Final = 1.0
"""Seconds after which an idle loop looks by itself."""
TAKEN: Final = timedelta(minutes=3)
"""Temporal has it: the first attempt is soon, and says when the next one is."""
REFUSED: Final = timedelta(seconds=5)
"""Temporal is away: the next try."""
CLEAN_EVERY: Final = timedelta(minutes=10)

Start = Callable[[int], Awaitable[None]]

log = structlog.get_logger()


class Telling:
    """Starts what is due until it is cancelled."""

    def __init__(
        self, database: Database, workflows: Pipelines, notifications: Notifications, clock: Clock, times: TimeLimits
    ) -> None:
        """Take what the composition root made."""
        self._database = database
        self._workflows = workflows
        self._notifications = notifications
        self._clock = clock
        self._log = timedelta(seconds=times.hook_log)
        self._cleaned: datetime | None = None

    async def run(self) -> None:
        """Look for ever."""
        fault = "the loop that tells webhooks and forges stumbled; it goes on"
        await when_told(self._notifications, HOOKS, self._look, IDLE, fault)

    async def _look(self) -> float:
        try:
            found = await self.start_due()
            await self._clean()
        except Unavailable as error:
            log.warning("webhooks and forges are told later", error=str(error))
            return IDLE
        return 0 if found >= BATCH else IDLE

    async def start_due(self) -> int:
        """Start what is due; how much that was."""
        told = await self._start(hook_deliveries.DUE, self._workflows.deliver)
        told += await self._start(commit_reports.DUE, self._workflows.report)
        return told + await self._start(messages.DUE, self._workflows.send)

    async def _start(self, rows: DueRows, start: Start) -> int:
        now = self._clock()
        async with self._database.read() as connection:
            found = await rows.due(connection, now, BATCH)
        if not found:
            return 0
        results = await asyncio.gather(*(self._is_started(start, row.id) for row in found))
        taken = [row for row, is_started in zip(found, results, strict=True) if is_started]
        refused = [row for row, is_started in zip(found, results, strict=True) if not is_started]
        async with self._database.write() as connection:
            for group, pause in ((taken, TAKEN), (refused, REFUSED)):
                if group:
                    await rows.look_again(connection, group, now, self._clock() + pause)
        return len(taken)

    async def _is_started(self, start: Start, key: int) -> bool:
        try:
            await start(key)
        except RPCError as error:
            log.warning("Temporal did not take what is to be told", row=key, error=str(error)[:200])
            return False
        return True

    async def _clean(self) -> None:
        """Now and then forget what is old."""
        now = self._clock()
        if self._cleaned is not None and now - self._cleaned < CLEAN_EVERY:
            return
        self._cleaned = now
        async with self._database.write() as connection:
            await hook_deliveries.forget(connection, now - self._log)
