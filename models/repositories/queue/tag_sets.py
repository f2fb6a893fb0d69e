"""Tag sets in rows: those that jobs of a group used, and those that jobs wait for.

Jobs are counted by their demand, of which there are as many as projects have different lists of tags, and only then it
is read what each demand is. What was used is counted in parts, each in a transaction of its own: a month of a large
organisation has more jobs than SQLite may look at while everything else waits.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Integer, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.matching import Demand
from domain.runners.queued import WaitingJobs
from models.columns import Moment, padded, table_of
from models.repositories import database_time
from models.repositories.installation.measurements import MAX_ROWS
from models.repositories.namespaces.namespaces import namespace
from models.repositories.queue import demands
from models.rows.namespaces import NamespaceRow
from models.tables.pipelines import Job, Pipeline
from models.tables.projects import Project
from models.tables.queue import QueueEntry
from models.typed_rows import all_of

entry = table_of(QueueEntry)
job = table_of(Job)
pipeline = table_of(Pipeline)
project = table_of(Project)

_MAX_BATCH: Final = 1_000
"""Demands that are read by one statement, which has a parameter for each."""
_entries = select(entry.c.demand_id, entry.c.since).limit(bindparam("b_most", type_=Integer)).subquery("first")
_WAITING: Final = select(
    _entries.c.demand_id, func.count().label("jobs"), func.min(_entries.c.since).label("since")
).group_by(_entries.c.demand_id)
_projects = (
    select(project.c.id)
    .join(namespace, namespace.c.id == project.c.namespace_id)
    .where(namespace.c.trail.like(bindparam("b_trail")), project.c.removal_asked_at.is_(None), ~project.c.archived)
)
_PIPELINES: Final = select(pipeline.c.id).where(
    pipeline.c.project_id.in_(_projects), pipeline.c.created_at >= bindparam("b_since", type_=Moment)
)
"""By the index of a project's pipelines by time: what is older than asked for costs nothing."""
_USED: Final = (
    select(job.c.demand_id, func.count().label("jobs"), func.max(job.c.created_at).label("last_used_at"))
    .where(job.c.pipeline_id.in_(bindparam("b_pipelines", expanding=True)), ~job.c.bridge)
    .group_by(job.c.demand_id)
)


@dataclass(frozen=True, slots=True)
class DemandUse:
    """How many jobs asked for the same, and when the last one was made."""

    demand_id: int
    jobs: int
    last_used_at: datetime


async def pipelines_since(connection: AsyncConnection, group: NamespaceRow, since: datetime) -> Sequence[int]:
    """The pipelines that were made since then in all projects of a group and of those within it."""
    found = await connection.execute(_PIPELINES, {"b_trail": f"{group.trail}%", "b_since": since})
    return found.scalars().all()


async def used_by(connection: AsyncConnection, pipeline_ids: Collection[int]) -> Sequence[DemandUse]:
    """What the jobs of some pipelines ask for; each attempt counts, and no bridge."""
    return all_of(DemandUse, await connection.execute(_USED, {"b_pipelines": padded(pipeline_ids)}))


async def waiting(connection: AsyncConnection) -> list[WaitingJobs]:
    """What pending jobs ask for; of a longer queue than `MAX_ROWS` so many are looked at."""
    found = await waiting_by_demand(connection)
    known = await read(connection, found)
    return [WaitingJobs(known[key], jobs, waited) for key, (jobs, waited) in found.items() if key in known]


async def waiting_by_demand(connection: AsyncConnection) -> Mapping[int, tuple[int, float]]:
    """How many jobs wait by the id of their demand, and for how many seconds the first has."""
    now = await database_time.seconds(connection)
    rows = (await connection.execute(_WAITING, {"b_most": MAX_ROWS[connection.dialect.name]})).all()
    return {row.demand_id: (int(row.jobs), max(0.0, now - row.since)) for row in rows}


async def read(connection: AsyncConnection, ids: Iterable[int]) -> Mapping[int, Demand]:
    """Demands by id, however many."""
    found: dict[int, Demand] = {}
    wanted = list(ids)
    for begin in range(0, len(wanted), _MAX_BATCH):
        found |= await demands.read(connection, wanted[begin : begin + _MAX_BATCH])
    return found
