"""The tag sets that an organisation used, with what becomes of them in its pod."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from application.services import Services
from domain.pods.tag_sets import Use, UsedTagSet, used_tag_sets
from models.repositories import database_time
from models.repositories.queue import tag_sets, waiting_jobs
from models.repositories.queue.tag_sets import DemandUse
from models.rows.namespaces import NamespaceRow
from models.session import Database

_MAX_JOBS: Final = 5_000
"""So many jobs are read by one statement, if pipelines go on as they were: some 20 ms on SQLite."""
_MAX_PIPELINES: Final = 1_000
_FIRST: Final = 50


class _Parts:
    """Pipelines in parts that hold about as many jobs each."""

    def __init__(self, pipeline_ids: Sequence[int]) -> None:
        self._ids = pipeline_ids
        self._size = _FIRST

    def __iter__(self) -> Iterator[Sequence[int]]:
        begin = 0
        while begin < len(self._ids):
            part = self._ids[begin : begin + self._size]
            begin += len(part)
            yield part

    def held(self, jobs: int) -> None:
        """Tell how many jobs the last part had."""
        self._size = min(_MAX_PIPELINES, max(1, self._size * _MAX_JOBS // max(jobs, 1)))


async def used(services: Services, group: NamespaceRow, days: int) -> list[UsedTagSet]:
    """What the jobs of pipelines that were made in the last so many days asked for, in a group and all within it."""
    return await used_in(services.database, services.settings.times.runner_online, group, days)


async def used_in(database: Database, online: float, group: NamespaceRow, days: int) -> list[UsedTagSet]:
    """The same of a database; runners are available that were heard of in the last `online` seconds."""
    async with database.read() as connection:
        now = await database_time.moment(connection)
        parts = _Parts(await tag_sets.pipelines_since(connection, group, now - timedelta(days=days)))
    found: dict[int, DemandUse] = {}
    for part in parts:
        async with database.read() as connection:
            rows = await tag_sets.used_by(connection, part)
        parts.held(sum(row.jobs for row in rows))
        for row in rows:
            found[row.demand_id] = _joined(found.get(row.demand_id), row)
        await asyncio.sleep(0)  # SQLite is read in the thread of the event loop: others have their turn
    async with database.read() as connection:
        demands = await tag_sets.read(connection, found)
        runners = await waiting_jobs.candidates(connection, now, online)
    uses = (Use(demands[key], row.jobs, row.last_used_at) for key, row in found.items() if key in demands)
    return used_tag_sets(uses, runners)


def _joined(one: DemandUse | None, other: DemandUse) -> DemandUse:
    if one is None:
        return other
    return replace(one, jobs=one.jobs + other.jobs, last_used_at=max(one.last_used_at, other.last_used_at))
