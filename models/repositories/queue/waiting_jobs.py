"""Jobs that wait for a runner: which of them no runner can take, and why; read for many at once.

Jobs are grouped by what they ask for, and each group is held against all runners: never one query for each job.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from sqlalchemy import and_, bindparam, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from domain.pipelines.stuck import why_stuck
from domain.runners.matching import Candidate
from domain.runners.named_runner import NamedRunner
from models.columns import padded, table_of
from models.repositories import database_time
from models.repositories.installation.installations import HELD
from models.repositories.pipelines.job_rows import job
from models.repositories.queue import demands
from models.repositories.queue.candidates import MatchedRunner, candidate, linked_projects
from models.tables.queue import Lease, QueueEntry
from models.tables.runners import Runner
from models.typed_rows import all_of
from settings import TimeLimits

queue = table_of(QueueEntry)
lease = table_of(Lease)
runner = table_of(Runner)

_RUNNERS: Final = select(
    runner.c.id,
    runner.c.description,
    runner.c.runner_type,
    runner.c.organisation_id,
    runner.c.namespace_id,
    runner.c.tags,
    runner.c.run_untagged,
    runner.c.ref_protected,
    runner.c.as_server,
    runner.c.paused,
    runner.c.contacted_at,
)
_HOLDERS: Final = (
    select(job.c.runner_id, func.count().label("jobs"))
    .join(lease, lease.c.job_id + 0 == job.c.id)
    .group_by(job.c.runner_id)
)
_OLD_DEMANDS: Final = select(queue.c.demand_id).where(queue.c.since < bindparam("b_before")).distinct()
_OLD: Final = (
    select(job.c.id, job.c.hand_out, queue.c.demand_id)
    .join(queue, queue.c.job_id + 0 == job.c.id)  # begins at the queue, which is short: no index finds its rows
    .where(
        or_(
            queue.c.since < bindparam("b_anyway"),
            and_(
                queue.c.since < bindparam("b_hopeless"), queue.c.demand_id.in_(bindparam("b_demands", expanding=True))
            ),
        ),
        job.c.pipeline_id > HELD,
    )
    .order_by(queue.c.since, job.c.id)
)


@dataclass(frozen=True, slots=True)
class Overdue:
    """A job that has waited for too long; only this hand-out of it may be ended. `reason` is empty if a runner fits."""

    job_id: int
    hand_out: int
    reason: str


class AwaitedJob(Protocol):
    """A job that may wait for a runner."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def status(self) -> str:
        """Its status."""

    @property
    def bridge(self) -> bool:
        """Whether it runs on the server."""

    @property
    def demand_id(self) -> int:
        """What it asks of a runner."""


@dataclass(frozen=True, slots=True)
class _SeenRunner(MatchedRunner):
    """A runner, what it is called, and when it was last heard of."""

    description: str
    contacted_at: datetime | None


@dataclass(frozen=True, slots=True)
class _OldEntry:
    """A job that has been in the queue for too long."""

    id: int
    hand_out: int
    demand_id: int


async def reasons(
    connection: AsyncConnection, rows: Sequence[AwaitedJob], now: datetime, online: float
) -> Mapping[int, str]:
    """Job id to the reason why no runner can take it, for those of these jobs that are pending and stuck.

    `online` is how many seconds a runner may be silent. Bridges run on the server and are never stuck.
    """
    waiting = [row for row in rows if row.status == Status.PENDING and not row.bridge]
    if not waiting:
        return {}
    why = await _explained(connection, (row.demand_id for row in waiting), now, online)
    return {row.id: why[row.demand_id] for row in waiting if why[row.demand_id]}


async def overdue(connection: AsyncConnection, times: TimeLimits) -> list[Overdue]:
    """Jobs that have been pending for too long by the database's clock: without a fitting runner, or at all.

    The one that has waited longest comes first.
    """
    now = await database_time.moment(connection)
    hopeless, anyway = (now.timestamp() - limit for limit in (times.pending_unmatched, times.pending_limit))
    asked = (await connection.execute(_OLD_DEMANDS, {"b_before": max(hopeless, anyway)})).scalars().all()
    if not asked:
        return []
    # A long queue that runners work off is not read: what it asks for is, of which there is little.
    why = await _explained(connection, asked, now, times.runner_online)
    stuck = [key for key, reason in why.items() if reason]
    values = {"b_anyway": anyway, "b_hopeless": hopeless, "b_demands": padded(stuck)}
    rows = all_of(_OldEntry, await connection.execute(_OLD, values))
    return [Overdue(row.id, row.hand_out, why.get(row.demand_id, "")) for row in rows]


async def count(connection: AsyncConnection) -> int:
    """How many jobs wait for a runner."""
    return int((await connection.execute(select(func.count()).select_from(queue))).scalar_one())


async def candidates(connection: AsyncConnection, now: datetime, online: float) -> list[Candidate]:
    """Every registered runner. One that holds a job is online, however long ago it asked for another."""
    return [one.candidate for one in await named_runners(connection, now, online)]


async def named_runners(connection: AsyncConnection, now: datetime, online: float) -> list[NamedRunner]:
    """The same with their names and how many jobs they hold, the one that was registered first first."""
    holders = {row.runner_id: int(row.jobs) for row in await connection.execute(_HOLDERS)}
    since = now - timedelta(seconds=online)
    projects = await linked_projects(connection)
    return [
        NamedRunner(
            row.id,
            row.description,
            candidate(
                row,
                projects.get(row.id, ()),
                online=row.id in holders or (row.contacted_at is not None and row.contacted_at >= since),
            ),
            holders.get(row.id, 0),
        )
        for row in all_of(_SeenRunner, await connection.execute(_RUNNERS.order_by(runner.c.id)))
    ]


async def _explained(
    connection: AsyncConnection, demand_ids: Iterable[int], now: datetime, online: float
) -> dict[int, str]:
    """Why no runner can take the jobs of each demand; empty where one can."""
    found = await demands.read(connection, set(demand_ids))
    runners = await candidates(connection, now, online)
    return {demand_id: why_stuck(demand, runners) for demand_id, demand in found.items()}
