"""Figures of the whole installation for its metrics: how much waits where, and for how long.

Each statement looks at so many rows at most (`MAX_ROWS`), so that a look costs little however much has piled up;
figures never say more than that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import BindParameter, Executable, Integer, Result, Select, Subquery, bindparam, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import OPEN, Status
from models.columns import table_of
from models.repositories import database_time
from models.repositories.pipelines.outbox import OUTCOME
from models.tables.artifacts import ObjectToDelete
from models.tables.logs import TO_STORE, Trace
from models.tables.outbox import Outbox
from models.tables.pipelines import OPEN_PIPELINE, Job, Pipeline
from models.tables.queue import Lease, LeaseClock, QueueDemand, QueueEntry

MAX_ROWS: Final[dict[str, int]] = {"sqlite": 20_000, "postgresql": 100_000}
"""By dialect. Where SQLite runs in the process that asks, everything else waits: a row takes a microsecond."""

entry = table_of(QueueEntry)
demand = table_of(QueueDemand)
job = table_of(Job)
pipeline = table_of(Pipeline)
outbox = table_of(Outbox)
lease = table_of(Lease)
clock = table_of(LeaseClock)
trace = table_of(Trace)
doomed = table_of(ObjectToDelete)

WAITS: Final = OPEN | {Status.WAITING_FOR_RESOURCE, Status.PREPARING, Status.SCHEDULED}
"""States of jobs that are counted; all others may be as many as there are pipelines, ended ones too."""


def _first(statement: Select[Any]) -> Subquery:
    return statement.limit(bindparam("b_most", type_=Integer)).subquery("first")


_entries = _first(select(entry.c.demand_id, entry.c.since))
_by_demand = (
    select(_entries.c.demand_id, func.count().label("jobs"), func.min(_entries.c.since).label("since"))
    .group_by(_entries.c.demand_id)
    .subquery("by_demand")
)
_QUEUE: Final = (
    select(demand.c.tag_key, func.sum(_by_demand.c.jobs).label("jobs"), func.min(_by_demand.c.since).label("since"))
    .join(_by_demand, _by_demand.c.demand_id == demand.c.id)
    .group_by(demand.c.tag_key)
)
_pipelines = _first(select(pipeline.c.status, pipeline.c.source).where(text(OPEN_PIPELINE)))
_PIPELINES: Final = select(_pipelines.c.status, _pipelines.c.source, func.count().label("rows")).group_by(
    _pipelines.c.status, _pipelines.c.source
)
_waits: Final[BindParameter[Any]] = bindparam("b_waits", sorted(WAITS), expanding=True, literal_execute=True)
"""Written out: a plan of PostgreSQL for any statuses expects a part of all jobs, and reads them one by one."""
_jobs = _first(select(job.c.status).where(job.c.status.in_(_waits)))
_JOBS: Final = select(_jobs.c.status, func.count().label("rows")).group_by(_jobs.c.status)
_unsent = _first(select(outbox.c.kind, outbox.c.created_at).where(outbox.c.sent_at.is_(None)))
_UNSENT: Final = select(
    _unsent.c.kind, func.count().label("rows"), func.min(_unsent.c.created_at).label("oldest")
).group_by(_unsent.c.kind)
_outcomes = _first(select(outbox.c.created_at).where(outbox.c.kind == OUTCOME))
_UNFOLDED: Final = select(func.count().label("rows"), func.min(_outcomes.c.created_at).label("oldest")).select_from(
    _outcomes
)
_leases = _first(select(lease.c.taken_up, lease.c.contact))
_LEASES: Final = select(
    _leases.c.taken_up, func.count().label("rows"), func.min(_leases.c.contact).label("contact")
).group_by(_leases.c.taken_up)
_CLOCK: Final = select(clock.c.ticks, clock.c.ticked_at)
_logs = _first(select(trace.c.job_id).where(trace.c.frozen, text(TO_STORE)))
_LOGS: Final = select(func.count()).select_from(_logs)
_objects = _first(select(doomed.c.object_key).where(doomed.c.doomed))
_OBJECTS: Final = select(func.count()).select_from(_objects)


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many wait, and for how many seconds the one that waits longest has."""

    number: int
    age: float = 0.0


@dataclass(frozen=True, slots=True)
class Measurements:
    """The figures at one moment, `at` (seconds since 1970).

    `queue` is by list of tags, `unsent` by kind of outbox row, `leases` by whether they were taken up. The silence is
    in ticks; `tick_age` is None before the first tick.
    """

    at: float
    queue: Mapping[tuple[str, ...], Waiting]
    pipelines: Mapping[tuple[str, str], int]
    jobs: Mapping[str, int]
    unsent: Mapping[str, Waiting]
    unfolded: Waiting
    leases: Mapping[bool, int]
    longest_silence: int
    tick_age: float | None
    logs_to_move: int
    objects_to_delete: int


async def measure(connection: AsyncConnection) -> Measurements:
    """Look at all of it."""
    bound = {"b_most": MAX_ROWS[connection.dialect.name]}

    async def look(statement: Executable) -> Result[Any]:
        return await connection.execute(statement, bound)

    at = await database_time.seconds(connection)
    ticks = (await connection.execute(_CLOCK)).first()
    leases = (await look(_LEASES)).all()
    silent = max((ticks.ticks - row.contact for row in leases if ticks is not None), default=0)
    unfolded = (await look(_UNFOLDED)).one()
    return Measurements(
        at=at,
        queue={
            tuple(orjson.loads(row.tag_key)): Waiting(int(row.jobs), max(0.0, at - row.since))
            for row in (await look(_QUEUE)).all()
        },
        pipelines={(row.status, row.source): row.rows for row in (await look(_PIPELINES)).all()},
        jobs={row.status: row.rows for row in (await look(_JOBS)).all()},
        unsent={row.kind: Waiting(row.rows, _age(at, row.oldest)) for row in (await look(_UNSENT)).all()},
        unfolded=Waiting(unfolded.rows, _age(at, unfolded.oldest)),
        leases={bool(row.taken_up): row.rows for row in leases},
        longest_silence=max(0, silent),
        tick_age=None if ticks is None else max(0.0, at - ticks.ticked_at),
        logs_to_move=int((await look(_LOGS)).scalar_one()),
        objects_to_delete=int((await look(_OBJECTS)).scalar_one()),
    )


def _age(at: float, oldest: datetime | None) -> float:
    return 0.0 if oldest is None else max(0.0, at - oldest.timestamp())
