"""Jobs as their runners see them: one look for each call, one write when there is something to write.

Statements are built once: building one anew costs more than running it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, bindparam, case, false, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import BIG, padded, table_of
from models.repositories.pipelines.job_rows import job
from models.tables.logs import Trace
from models.tables.projects import Project
from models.tables.queue import Lease, LeaseClock
from models.typed_rows import all_of, first_of

project = table_of(Project)
lease = table_of(Lease)
clock = table_of(LeaseClock)
trace = table_of(Trace)

_LOOK: Final = select(
    job.c.id,
    job.c.status,
    job.c.hand_out,
    job.c.attempt,
    job.c.project_id,
    job.c.pipeline_id,
    job.c.failure_reason,
    job.c.finished_at,
    job.c.environment_action,
    project.c.organisation_id,
    func.coalesce(lease.c.called, lease.c.contact).label("called"),
    lease.c.contact,
    lease.c.taken_up,
    select(clock.c.ticks).scalar_subquery().label("ticks"),
    func.coalesce(trace.c.generation, 0).label("generation"),
    func.coalesce(trace.c.size, 0).label("size"),
    func.coalesce(trace.c.crc, 0).label("crc"),
    func.coalesce(trace.c.resent, false()).label("resent"),
    trace.c.watched,
).select_from(
    job.join(project, project.c.id == job.c.project_id)
    .outerjoin(lease, lease.c.job_id == job.c.id)
    .outerjoin(trace, trace.c.job_id == job.c.id)
)
_LOOK_AT_ONE: Final = _LOOK.where(job.c.id == bindparam("b_job"))
_LOOK_AT: Final = _LOOK.where(job.c.id.in_(bindparam("b_jobs", expanding=True)))
_LOOK_FIRST: Final = _LOOK_AT_ONE.with_for_update(of=job, key_share=True)

_OF_HAND_OUT: Final = update(lease).where(
    lease.c.job_id == bindparam("b_job"), lease.c.hand_out == bindparam("b_hand_out")
)


def _called_at(ticks: ColumnElement[int]) -> dict[str, ColumnElement[int]]:
    """What a call makes of the silence of a lease (`domain.runners.leases.Silence.broken`)."""
    return {"called": ticks, "contact": case((lease.c.contact > ticks, lease.c.contact), else_=ticks)}


_CALLED: Final = _called_at(bindparam("b_ticks", type_=BIG))
_RENEW: Final = _OF_HAND_OUT.values(taken_up=True, **_CALLED)
_HELD: Final = tuple_(lease.c.job_id, lease.c.hand_out).in_(bindparam("b_held", expanding=True))
_IN_ORDER: Final = select(lease.c.job_id).where(_HELD).order_by(lease.c.job_id).with_for_update()
TICKS: Final = func.coalesce(select(clock.c.ticks).scalar_subquery(), 0)
RENEWED: Final = {"taken_up": True, **_called_at(TICKS)}
"""What a call makes of a lease."""
IS_DUE: Final = or_(~lease.c.taken_up, func.coalesce(lease.c.called, lease.c.contact) < TICKS)
"""Whether this tick knows of no call for the job yet."""
_RENEW_ALL: Final = (
    update(lease).where(lease.c.job_id.in_(_IN_ORDER)).values(RENEWED).returning(lease.c.job_id, lease.c.hand_out)
)
"""Locked in order first, as the sweeper does: neither waits for the other in turn."""
_PROLONG: Final = _OF_HAND_OUT.where(~lease.c.taken_up).values(_CALLED)


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job with its lease, the head of its log and the present tick of the lease clock.

    The columns of the lease (`called`, `contact`, `taken_up`) are None when nobody holds the job. A log that no runner
    has begun is an empty one.
    """

    id: int
    status: str
    hand_out: int
    attempt: int
    project_id: int
    pipeline_id: int
    failure_reason: str
    finished_at: datetime | None
    environment_action: str
    organisation_id: int
    called: int | None
    contact: int | None
    taken_up: bool | None
    ticks: int | None
    generation: int
    size: int
    crc: int
    resent: bool
    watched: int | None


async def look(connection: AsyncConnection, job_id: int) -> HeldJob | None:
    """A job as its runner sees it, held or not."""
    return first_of(HeldJob, await connection.execute(_LOOK_AT_ONE, {"b_job": job_id}))


async def look_at(connection: AsyncConnection, job_ids: Collection[int]) -> Mapping[int, HeldJob]:
    """The same of many jobs, by id."""
    found = await connection.execute(_LOOK_AT, {"b_jobs": padded(job_ids)})
    return {row.id: row for row in all_of(HeldJob, found)}


async def look_and_lock(connection: AsyncConnection, job_id: int) -> HeldJob | None:
    """The same for whoever will write the job: nobody else does until the transaction ends.

    Everybody locks the job first, then its lease, then its log. Rows may still refer to the job meanwhile, as a piece
    of log does, whose writer holds the lease already.
    """
    return first_of(HeldJob, await connection.execute(_LOOK_FIRST, {"b_job": job_id}))


def is_renewed(row: HeldJob) -> bool:
    """Whether this tick already knows of a call for the job."""
    return bool(row.taken_up) and row.called is not None and row.called >= (row.ticks or 0)


async def renew(connection: AsyncConnection, row: HeldJob) -> bool:
    """Note a call for a job, once a tick; false when that hand-out does not hold it any more."""
    return is_renewed(row) or bool((await connection.execute(_RENEW, _named(row))).rowcount)


async def renew_all(connection: AsyncConnection, held: Collection[tuple[int, int]]) -> Mapping[tuple[int, int], bool]:
    """Note calls for many jobs, each with its hand-out, in one statement; the answer has those that are held still."""
    rows = (await connection.execute(_RENEW_ALL, {"b_held": padded(held)})).all()
    return {(row.job_id, row.hand_out): True for row in rows}


async def prolong(connection: AsyncConnection, row: HeldJob) -> bool:
    """Let a hand-out that nobody has taken up yet wait on; false when it was taken up, or is another's."""
    return bool((await connection.execute(_PROLONG, _named(row))).rowcount)


def _named(row: HeldJob) -> dict[str, int]:
    return {"b_job": row.id, "b_hand_out": row.hand_out, "b_ticks": row.ticks or 0}
