"""Jobs that wait for a runner: which of them no runner can take, and why; read for many at once.

Jobs are grouped by what they ask for, and each group is held against all runners: never one query for each job.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.status import Status
from domain.stuck import Candidate, Demand, why_stuck
from models.columns import Record, table_of
from models.pipelines import Lease, QueueEntry
from models.repositories import database_time
from models.repositories.job_rows import job
from models.tables import Runner
from settings import TimeLimits

queue = table_of(QueueEntry)
lease = table_of(Lease)
runner = table_of(Runner)

_AT_ONCE: Final = 1000
"""So many ids go into one statement."""

_RUNNERS: Final = select(
    runner.c.id,
    runner.c.runner_type,
    runner.c.project_id,
    runner.c.tags,
    runner.c.run_untagged,
    runner.c.ref_protected,
    runner.c.paused,
    runner.c.contacted_at,
)
_HOLDERS: Final = select(job.c.runner_id).join(lease, lease.c.job_id == job.c.id).distinct()
_PROTECTED: Final = select(queue.c.job_id).where(
    queue.c.ref_protected, queue.c.job_id.in_(bindparam("b_jobs", expanding=True))
)
_OLD: Final = (
    select(job.c.id, job.c.hand_out, job.c.project_id, job.c.tags, queue.c.since, queue.c.ref_protected)
    .join(queue, queue.c.job_id == job.c.id)
    .where(queue.c.since < bindparam("b_before"))
    .order_by(queue.c.since, job.c.id)
)


@dataclass(frozen=True, slots=True)
class Overdue:
    """A job that has waited for too long; only this hand-out of it may be ended. `reason` is empty if a runner fits."""

    job_id: int
    hand_out: int
    reason: str


async def reasons(
    connection: AsyncConnection, rows: Sequence[Record], now: datetime, online: float
) -> Mapping[int, str]:
    """Job id to the reason why no runner can take it, for those of these job rows that are pending and stuck.

    `online` is how many seconds a runner may be silent. Bridges run on the server and are never stuck.
    """
    waiting = [row for row in rows if row.status == Status.PENDING and not row.bridge]
    if not waiting:
        return {}
    protected = await _protected(connection, [row.id for row in waiting])
    demands = {row.id: Demand(row.project_id, frozenset(row.tags), row.id in protected) for row in waiting}
    why = _explained(demands.values(), await candidates(connection, now, online))
    return {job_id: why[demand] for job_id, demand in demands.items() if why[demand]}


async def overdue(connection: AsyncConnection, times: TimeLimits) -> list[Overdue]:
    """Jobs that have been pending for too long by the database's clock: without a fitting runner, or at all.

    The one that has waited longest comes first.
    """
    now = await database_time.moment(connection)
    hopeless, anyway = (now.timestamp() - limit for limit in (times.pending_unmatched, times.pending_limit))
    rows = (await connection.execute(_OLD, {"b_before": max(hopeless, anyway)})).all()
    if not rows:
        return []
    demands = {row.id: Demand(row.project_id, frozenset(row.tags), row.ref_protected) for row in rows}
    why = _explained(demands.values(), await candidates(connection, now, times.runner_online))
    found = [Overdue(row.id, row.hand_out, why[demands[row.id]]) for row in rows]
    return [
        one for one, row in zip(found, rows, strict=True) if row.since < anyway or (one.reason and row.since < hopeless)
    ]


async def count(connection: AsyncConnection) -> int:
    """How many jobs wait for a runner."""
    return int((await connection.execute(select(func.count()).select_from(queue))).scalar_one())


async def candidates(connection: AsyncConnection, now: datetime, online: float) -> list[Candidate]:
    """Every registered runner. One that holds a job is online, however long ago it asked for another."""
    holders = set((await connection.execute(_HOLDERS)).scalars())
    since = now - timedelta(seconds=online)
    return [
        Candidate(
            project_id=row.project_id if row.runner_type == "project_type" else None,
            tags=frozenset(row.tags),
            run_untagged=row.run_untagged,
            ref_protected=row.ref_protected,
            paused=row.paused,
            online=row.id in holders or (row.contacted_at is not None and row.contacted_at >= since),
        )
        for row in (await connection.execute(_RUNNERS)).all()
    ]


def _explained(demands: Iterable[Demand], runners: Sequence[Candidate]) -> dict[Demand, str]:
    return {demand: why_stuck(demand, runners) for demand in set(demands)}


async def _protected(connection: AsyncConnection, ids: Sequence[int]) -> set[int]:
    """Those of the jobs that are in the queue as jobs of a protected ref."""
    found: set[int] = set()
    for start in range(0, len(ids), _AT_ONCE):
        part = list(ids[start : start + _AT_ONCE])
        found.update((await connection.execute(_PROTECTED, {"b_jobs": part})).scalars())
    return found
