"""The loop that removes what the policies do not keep: old pipelines with all they had, and rows nobody needs.

Any number of these loops may run: the rows of a pipeline let one of them remove it. Rows go first, in one transaction
for a few pipelines; their objects are doomed in it, and the refs that held their commits go after it. What a killed
process leaves of those refs goes at the next start.
"""

from collections.abc import Sequence
from typing import Final

import structlog

from domain.errors import NotFound, PerdureError
from domain.projects.ref_names import full_ref
from git.repository import Repositories, Repository
from git.transport.snapshot import KEPT, forget_pipelines
from loops.rounds import every
from models.clock import Clock
from models.repositories.accounts import token_chains
from models.repositories.installation import dead_rows
from models.repositories.pipelines import pipeline_removal
from models.repositories.pipelines.pipeline_removal import DuePipeline, Policy
from models.repositories.projects import projects
from models.session import Database
from settings import Retention

BATCH: Final = 20
"""So many pipelines are removed in one transaction."""
ROWS: Final = 500
"""So many other rows."""

log = structlog.get_logger()


class RetentionLoop:
    """Removes what is too old until it is cancelled."""

    def __init__(self, database: Database, repositories: Repositories, clock: Clock, retention: Retention) -> None:
        """Take what the composition root made."""
        self._database = database
        self._repositories = repositories
        self._clock = clock
        self._retention = retention
        self._has_swept = False

    async def run(self) -> None:
        """Remove for ever."""
        fault = "what is too old could not be removed; the next round tries again"
        await every(self._retention.retention_every, self._remove, fault)

    async def _remove(self) -> None:
        if not self._has_swept:
            await self.sweep_refs()
            self._has_swept = True
        await self.remove_pipelines()
        await self.pack_refs()
        await self.remove_dead_rows()

    async def remove_pipelines(self) -> int:
        """Remove every pipeline whose time is over; how many."""
        async with self._database.read() as connection:
            found = await pipeline_removal.with_policy(connection, self._retention.pipelines_kept)
        total = 0
        for of in found:
            total += await self._remove_of(of)
        if total:
            log.info("old pipelines were removed", count=total)
        return total

    async def _remove_of(self, of: Policy) -> int:
        count = after = 0
        repository = self._repository(of.id)
        while True:
            now = self._clock()
            async with self._database.read() as connection:
                rows = await pipeline_removal.due(connection, of, now, after, BATCH)
            if not rows:
                return count
            after = rows[-1].id
            ids = await self._not_needed(repository, rows)
            if not ids:
                continue
            async with self._database.write(is_long=True) as connection:
                removed = await pipeline_removal.remove_due(connection, of, ids, now)
            await forget(repository, removed)
            count += len(removed)

    def _repository(self, project_id: int) -> Repository | None:
        try:
            return self._repositories.get(project_id)
        except NotFound:
            return None

    async def _not_needed(self, repository: Repository | None, rows: Sequence[DuePipeline]) -> list[int]:
        """All but the latest of a ref that is there."""
        if repository is None or not any(row.is_latest for row in rows):
            return [row.id for row in rows]
        there = {ref.name for ref in (*await repository.branches(), *await repository.tags())}
        names = {row.id: full_ref(row.ref, tag=row.tag) for row in rows}
        return [row.id for row in rows if not row.is_latest or names[row.id] not in there]

    async def remove_dead_rows(self) -> int:
        """Remove rows that nothing needs, and end robots whose last token has expired; how many rows."""
        total = 0
        for policy in dead_rows.POLICIES:
            count = ROWS
            while count == ROWS:
                async with self._database.write(is_long=True) as connection:
                    count = await dead_rows.remove(connection, policy, self._retention, self._clock(), ROWS)
                total += count
        async with self._database.write(is_long=True) as connection:
            await token_chains.end_robots(connection)
        return total

    async def pack_refs(self) -> int:
        """Pack the refs of repositories that have many loose ones, as each pipeline leaves one; of how many."""
        async with self._database.read() as connection:
            known = await projects.everything(connection)
        total = 0
        for row in known:
            repository = self._repository(row.id)
            total += repository is not None and await _pack(repository)
        return total

    async def sweep_refs(self) -> int:
        """Remove refs of pipelines that are no more; how many. A ref is made only after its pipeline."""
        async with self._database.read() as connection:
            known = await projects.everything(connection)
        total = 0
        for row in known:
            repository = self._repository(row.id)
            if repository is None:
                continue
            names = [ref.name.removeprefix(KEPT) for ref in await repository.refs(KEPT.rstrip("/"))]
            ids = [int(name) for name in names if name.isdecimal()]
            for start in range(0, len(ids), ROWS):
                some = ids[start : start + ROWS]
                async with self._database.read() as connection:
                    there = await pipeline_removal.existing(connection, some)
                lost = [pipeline_id for pipeline_id in some if pipeline_id not in there]
                await forget(repository, lost)
                total += len(lost)
        return total


async def forget(repository: Repository | None, removed: Sequence[int]) -> None:
    """Let go of the commits of pipelines that are no more; what fails is done at the next start."""
    if repository is None or not removed:
        return
    try:
        await forget_pipelines(repository, removed)
    except PerdureError as error:
        log.warning("refs of removed pipelines stay for now", repository=str(repository.path), error=str(error))


async def _pack(repository: Repository) -> bool:
    try:
        return await repository.pack_refs()
    except PerdureError as error:
        log.warning("refs stay loose until the next round", repository=str(repository.path), error=str(error))
        return False
