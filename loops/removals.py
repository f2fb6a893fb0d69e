"""Going on with the removal of projects and groups whose pipelines had not ended when somebody asked for it."""

import asyncio
import time
from typing import Final

import structlog

from git.repository import Repositories
from loops.rounds import every
from models.clock import Clock
from models.notifications import OUTBOX, RUNNERS, Notifications
from models.repositories.namespaces import group_removal
from models.repositories.projects import project_removal
from models.repositories.projects.project_removal import Removed
from models.session import Database

RESCAN: Final = 2.0
"""Seconds between two looks: nobody finds the project any more, so nobody waits."""
ASKED_AGAIN: Final = 60.0
"""Seconds after which a pipeline that has not ended is asked again: one that was made or went on meanwhile ends so."""

log = structlog.get_logger()


class RemovalLoop:
    """Removes what is marked, as soon as its pipelines have ended, until it is cancelled."""

    def __init__(
        self, database: Database, repositories: Repositories, notifications: Notifications, clock: Clock
    ) -> None:
        """Take what the composition root made."""
        self._database = database
        self._repositories = repositories
        self._notifications = notifications
        self._clock = clock
        self._asked: dict[int, float] = {}

    async def run(self) -> None:
        """Look for ever."""
        await every(RESCAN, self.remove_marked, "what is being removed could not be; the next look tries again")

    async def remove_marked(self) -> int:
        """Remove every marked project whose pipelines have ended, cancel the others, and remove groups that are left.

        How many projects and groups are gone.
        """
        async with self._database.read() as connection:
            projects = await project_removal.marked(connection)
            groups = await group_removal.marked(connection)
        gone = [row for row in projects if await self._removed(row.id, row.full_path)]
        if gone:
            await self._notifications.tell(RUNNERS)
        if not gone and not groups:
            return 0
        async with self._database.write(is_long=True) as connection:
            return len(gone) + await group_removal.remove_empty(connection)

    async def _removed(self, project_id: int, full_path: str) -> bool:
        async with self._database.read() as connection:
            running = await project_removal.unfinished(connection, project_id)
        if running:
            await self._cancel(running)
            return False
        removed = Removed.PART
        while removed is Removed.PART:
            begun = time.monotonic()
            async with self._database.write(is_long=True) as connection:
                removed = await project_removal.remove_ended(connection, project_id)
            if removed is Removed.PART:
                await asyncio.sleep(time.monotonic() - begun)  # half the time is for others, who wait on SQLite
        if removed is Removed.NOTHING:
            return False
        await self._repositories.remove(project_id)
        log.info("a project was removed after its pipelines had ended", project=full_path)
        return True

    async def _cancel(self, pipeline_ids: list[int]) -> None:
        now = time.monotonic()
        self._asked = {key: at for key, at in self._asked.items() if now - at < ASKED_AGAIN}
        new = [key for key in pipeline_ids if key not in self._asked]
        if not new:
            return
        async with self._database.write() as connection:
            await project_removal.cancel(connection, new, self._clock())
        self._asked |= dict.fromkeys(new, now)
        await self._notifications.notify(OUTBOX)
