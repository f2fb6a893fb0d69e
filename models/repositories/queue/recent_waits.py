"""How long jobs that runners took lately had waited, and where those stand that wait now: for people who look.

Nothing is counted as it happens: it is read from the times of the jobs, by an index that has them all, and never more
than so many of the newest hand-outs (`MAX_JOBS`), so that a look costs the same however much has piled up.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Integer, Select, bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.waits import WINDOW
from models.columns import Moment, table_of
from models.repositories.installation.measurements import MAX_ROWS
from models.tables.pipelines import Job
from models.tables.queue import Lease, QueueDemand, QueueEntry

job = table_of(Job)
entry = table_of(QueueEntry)
demand = table_of(QueueDemand)
lease = table_of(Lease)

MAX_JOBS: Final = 5_000
"""Of more hand-outs in the time that counts as lately the newest are looked at."""

_taken = (
    select(job.c.demand_id, job.c.queued_at, job.c.started_at)
    .where(job.c.started_at.is_not(None), ~job.c.bridge, job.c.started_at >= bindparam("b_since", type_=Moment))
    .order_by(job.c.started_at.desc())
    .limit(MAX_JOBS)
    .subquery("taken")
)
TAKEN: Final[Select[Any]] = select(_taken).where(_taken.c.queued_at.is_not(None))
TAKEN_OF: Final[Select[Any]] = TAKEN.join(demand, demand.c.id == _taken.c.demand_id).where(
    demand.c.tag_key == bindparam("b_tags")
)
_QUEUE: Final = (
    select(entry.c.demand_id, entry.c.job_id).order_by(entry.c.job_id).limit(bindparam("b_most", type_=Integer))
)
_LOADS: Final = (
    select(lease.c.load_of, func.count().label("jobs")).where(lease.c.load_of.is_not(None)).group_by(lease.c.load_of)
)


async def of_all(connection: AsyncConnection, now: datetime) -> Mapping[int, Sequence[float]]:
    """What jobs of each demand had waited that were taken lately, in seconds, by the demand's id."""
    return await _read(connection, TAKEN, now)


async def of_tags(connection: AsyncConnection, tag_key: str, now: datetime) -> Mapping[int, Sequence[float]]:
    """The same, only of jobs with these tags (`models.repositories.queue.demands.tag_key`)."""
    return await _read(connection, TAKEN_OF, now, b_tags=tag_key)


async def _read(
    connection: AsyncConnection, statement: Select[Any], now: datetime, **values: str
) -> Mapping[int, Sequence[float]]:
    found: defaultdict[int, list[float]] = defaultdict(list)
    since = now - timedelta(seconds=WINDOW)
    for demand_id, queued_at, started_at in await connection.execute(statement, {"b_since": since, **values}):
        found[demand_id].append(max(0.0, (started_at - queued_at).total_seconds()))
    return found


async def queue(connection: AsyncConnection) -> Mapping[int, Sequence[int]]:
    """The jobs that wait by the id of their demand, rising; of a longer queue than `MAX_ROWS` the oldest."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for demand_id, job_id in await connection.execute(_QUEUE, {"b_most": MAX_ROWS[connection.dialect.name]}):
        found[demand_id].append(job_id)
    return found


async def loads(connection: AsyncConnection) -> Mapping[int, int]:
    """How many jobs of each project instance runners hold: what decides whose turn it is."""
    return {row.load_of: int(row.jobs) for row in await connection.execute(_LOADS)}
