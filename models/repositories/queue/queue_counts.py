"""What waits in the queue, by what jobs have in common; nothing here asks for a runner, and nothing is locked."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import padded, table_of
from models.tables.queue import Lease, QueueEntry

entry = table_of(QueueEntry)
lease = table_of(Lease)

_first = select(func.min(entry.c.demand_id).label("id")).cte("present", recursive=True)
_next = select(func.min(entry.c.demand_id)).where(entry.c.demand_id > _first.c.id).scalar_subquery()
DEMANDS: Final = _first.union_all(select(_next).where(_first.c.id.is_not(None)))
"""The demands of which jobs wait: from each to the next one by the index, never over the jobs of one. NULL ends it."""
_PRESENT: Final = select(DEMANDS.c.id).where(DEMANDS.c.id.is_not(None))

_COUNTED: Final = select(entry.c.demand_id, func.count().label("jobs")).group_by(entry.c.demand_id)
_COUNTED_OF: Final = _COUNTED.where(entry.c.job_id.in_(bindparam("b_jobs", expanding=True)))
_REPEATED: Final = select(lease.c.request_id).where(
    lease.c.request_id.in_(bindparam("b_requests", expanding=True)), ~lease.c.taken_up
)


async def present(connection: AsyncConnection) -> set[int]:
    """The demands of which jobs wait."""
    return set((await connection.execute(_PRESENT)).scalars())


async def counts(connection: AsyncConnection) -> dict[int, int]:
    """How many jobs wait of each demand."""
    return {row.demand_id: row.jobs for row in (await connection.execute(_COUNTED)).all()}


async def counts_of(connection: AsyncConnection, job_ids: Collection[int]) -> dict[int, int]:
    """The same, of these jobs alone; one that does not wait any more does not count."""
    rows = (await connection.execute(_COUNTED_OF, {"b_jobs": padded(job_ids)})).all()
    return {row.demand_id: row.jobs for row in rows}


async def repeated(connection: AsyncConnection, request_ids: Collection[str]) -> set[str]:
    """Those requests that were given a job which nobody has called for yet: their answers were lost, it seems."""
    return set((await connection.execute(_REPEATED, {"b_requests": padded(request_ids)})).scalars())
