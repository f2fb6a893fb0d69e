"""The loop that stops environments whose time has come (`environment:auto_stop_in`).

Any number of these loops may run: the row of an environment lets one of them stop it, in the transaction that also
writes the command for its stop job.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog

from loops.rounds import every
from models.clock import Clock
from models.notifications import OUTBOX, Notifications, project_topic
from models.repositories.environments import environment_lifecycle, environments
from models.session import Database

STUCK: Final = timedelta(hours=1)
"""An environment that is stopping for so long, while no stop job is on its way, may be stopped again."""
BATCH: Final = 100
"""So many environments are stopped in one transaction."""

log = structlog.get_logger()


class EnvironmentLoop:
    """Stops environments when they are due."""

    def __init__(self, database: Database, notifications: Notifications, clock: Clock, every: float) -> None:
        """Look every `every` seconds."""
        self._database = database
        self._notifications = notifications
        self._clock = clock
        self._every = every

    async def run(self) -> None:
        """Stop what is due, for ever."""
        await every(self._every, self._stop, "environments could not be stopped; the next round tries again")

    async def _stop(self) -> None:
        await self.stop_due()
        await self.recover()

    async def stop_due(self) -> list[int]:
        """Stop every environment whose time has come; give back their ids."""
        stopped: list[int] = []
        while await self._any_due():
            async with self._database.write() as connection:
                batch = await environment_lifecycle.stop_due(connection, self._clock(), BATCH)
            if not batch:  # another loop has them
                break
            stopped += batch
        if stopped:
            log.info("environments are stopped, as their auto_stop_in says", environments=stopped)
            await self._notifications.notify(OUTBOX)
            await self._show(stopped)
        return stopped

    async def _show(self, ids: Sequence[int]) -> None:
        async with self._database.read() as connection:
            rows = await environments.by_ids(connection, ids)
        await self._notifications.show(*{project_topic(row.project_id) for row in rows.values()})

    async def _any_due(self) -> bool:
        async with self._database.read() as connection:
            return await environment_lifecycle.any_due(connection, self._clock())

    async def recover(self) -> list[int]:
        """Let environments live again whose stop job will not come; give back their ids."""
        now = self._clock()
        async with self._database.read() as connection:
            if not await environment_lifecycle.stuck(connection, now - STUCK):
                return []
        async with self._database.write() as connection:
            recovered = await environment_lifecycle.recover(connection, now - STUCK, now)
        log.warning("the stop jobs of these environments never ran; they are available again", environments=recovered)
        return recovered
