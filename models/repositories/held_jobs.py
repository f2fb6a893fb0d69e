"""Jobs as their runners see them: one look for each call, one write when there is something to write.

Statements are built once: building one anew costs more than running it.
"""

from typing import Final

from sqlalchemy import bindparam, case, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.pipelines import Lease, LeaseClock, Trace
from models.repositories.job_rows import job
from models.tables import Project

project = table_of(Project)
lease = table_of(Lease)
clock = table_of(LeaseClock)
trace = table_of(Trace)

_LOOK: Final = (
    select(
        job.c.id,
        job.c.status,
        job.c.hand_out,
        job.c.attempt,
        job.c.project_id,
        job.c.pipeline_id,
        job.c.failure_reason,
        job.c.finished_at,
        project.c.organisation_id,
        lease.c.contact,
        lease.c.taken_up,
        select(clock.c.ticks).scalar_subquery().label("ticks"),
        trace.c.generation,
        trace.c.size,
        trace.c.crc,
        trace.c.resent,
        trace.c.watched,
    )
    .select_from(
        job.join(project, project.c.id == job.c.project_id)
        .outerjoin(lease, lease.c.job_id == job.c.id)
        .outerjoin(trace, trace.c.job_id == job.c.id)
    )
    .where(job.c.id == bindparam("b_job"))
)
_LOOK_FIRST: Final = _LOOK.with_for_update(of=job, key_share=True)

_OF_HAND_OUT: Final = update(lease).where(
    lease.c.job_id == bindparam("b_job"), lease.c.hand_out == bindparam("b_hand_out")
)
# an extension after an outage must not be lost by a call, so contact never goes back
_CONTACT: Final = case((lease.c.contact > bindparam("b_ticks"), lease.c.contact), else_=bindparam("b_ticks"))
_RENEW: Final = _OF_HAND_OUT.values(taken_up=True, contact=_CONTACT)
_PROLONG: Final = _OF_HAND_OUT.where(~lease.c.taken_up).values(contact=_CONTACT)


async def look(connection: AsyncConnection, job_id: int) -> Record | None:
    """A job with its lease, its log's head and the present tick; lease columns are None when nobody holds it."""
    return (await connection.execute(_LOOK, {"b_job": job_id})).first()


async def look_and_lock(connection: AsyncConnection, job_id: int) -> Record | None:
    """The same for whoever will write the job: nobody else does until the transaction ends.

    Everybody locks the job first, then its lease, then its log. Rows may still refer to the job meanwhile, as a piece
    of log does, whose writer holds the lease already.
    """
    return (await connection.execute(_LOOK_FIRST, {"b_job": job_id})).first()


def is_renewed(row: Record) -> bool:
    """Whether this tick already knows of a call for the job."""
    return bool(row.taken_up) and row.contact >= (row.ticks or 0)


async def renew(connection: AsyncConnection, row: Record) -> bool:
    """Note a call for a job, once a tick; false when that hand-out does not hold it any more."""
    return is_renewed(row) or bool((await connection.execute(_RENEW, _call(row))).rowcount)


async def prolong(connection: AsyncConnection, row: Record) -> bool:
    """Let a hand-out that nobody has taken up yet wait on; false when it was taken up, or is another's."""
    return bool((await connection.execute(_PROLONG, _call(row))).rowcount)


def _call(row: Record) -> dict[str, int]:
    return {"b_job": row.id, "b_hand_out": row.hand_out, "b_ticks": row.ticks or 0}
