"""Verdicts: how attempts end. Verdict and outbox row are one transaction; the outbox is only the bell."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Integer, and_, bindparam, case, delete, exists, literal, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import HELD_BY_RUNNER, OPEN, Status
from domain.pipelines.verdict import Verdict, allows_failure
from models.columns import table_of
from models.repositories.hooks import webhook_events
from models.repositories.logs import traces
from models.repositories.pipelines import completions, outbox
from models.repositories.pipelines.job_rows import VerdictRow, dequeue, job, verdict_of
from models.rows.pipelines import EndedJobRow
from models.tables.logs import Trace
from models.tables.queue import Lease
from models.typed_rows import all_of, first_of

lease = table_of(Lease)
trace = table_of(Trace)


_END: Final = (
    update(job)
    .where(
        job.c.id == bindparam("b_job"),
        or_(
            *(job.c.status == status for status in sorted(OPEN)),
            and_(job.c.status == Status.MANUAL, job.c.downstream_id.is_not(None)),
        ),
    )
    .where(or_(bindparam("b_hand_out", type_=Integer) < 0, job.c.hand_out == bindparam("b_hand_out", type_=Integer)))
    .values(
        status=case(
            (job.c.status == Status.CANCELING, literal(str(Status.CANCELED))),
            else_=bindparam("b_status", type_=job.c.status.type),
        ),
        finished_at=bindparam("b_now"),
        failure_reason=bindparam("b_reason"),
        exit_code=bindparam("b_exit_code"),
        folded=False,
    )
    .returning(*completions.COLUMNS, job.c.allow_failure, job.c.exit_codes_allowed)
)
IS_BEGUN: Final = exists().where(lease.c.job_id == job.c.id, lease.c.taken_up).correlate(job)
"""Whether a runner works on the job: as long as it does not say so, nobody knows whether all of its log is here."""
_END_UNHEARD: Final = _END.values(log_incomplete=or_(job.c.log_incomplete, IS_BEGUN))
_STILL_RUNS: Final = (
    select(job.c.id)
    .where(job.c.pipeline_id == bindparam("b_pipeline"))
    .where(or_(*(job.c.status == status for status in sorted(HELD_BY_RUNNER))))
    .limit(1)
)
_UNLEASE: Final = delete(lease).where(lease.c.job_id == bindparam("b_job"))
_FREEZE: Final = update(trace).where(trace.c.job_id == bindparam("b_job")).values(frozen=True)


@dataclass(frozen=True, slots=True)
class _EndedRow(EndedJobRow):
    """A job that has ended, and what says whether its failure is allowed."""

    allow_failure: bool
    exit_codes_allowed: Sequence[int]


async def end_jobs(
    connection: AsyncConnection,
    ids: Sequence[int],
    status: Status,
    now: datetime,
    *,
    reason: str = "",
    exit_code: int | None = None,
    hand_out: int | None = None,
    tell: bool = True,
    queued: bool = True,
    vouched: bool = False,
    linger: float = 0.0,
) -> list[int]:
    """End open jobs with one verdict; a canceling one becomes canceled whatever the verdict says.

    `hand_out` fences: only that hand-out may end the job. `tell` is false when the workflow itself is the caller,
    `queued` is false when the jobs are certainly not in the queue. `vouched` is true when the runner has said what its
    log is: without that, one that was being sent again would be cut where it is, and that of a job on which a runner
    works is incomplete. The bell may wait for `linger` seconds while other jobs of the pipeline run. Gives back the ids
    of the jobs that ended.
    """
    verdict = {"b_status": str(status), "b_now": now, "b_reason": reason, "b_exit_code": exit_code}
    fence = -1 if hand_out is None else hand_out
    ended: list[int] = []
    rows: list[_EndedRow] = []
    for job_id in sorted(ids):
        statement = _END if vouched else _END_UNHEARD
        found = await connection.execute(statement, {"b_job": job_id, "b_hand_out": fence, **verdict})
        row = first_of(_EndedRow, found)
        if row is None:
            continue
        ended.append(job_id)
        rows.append(row)
        await _look_at_exit_code(connection, row, exit_code)
        await connection.execute(_UNLEASE, {"b_job": job_id})
        if not vouched:
            await traces.settle(connection, [job_id])
        await connection.execute(_FREEZE, {"b_job": job_id})
        await completions.ended(connection, [row], now)
        if tell:
            await _ring(connection, row, now, linger)
    if ended and queued:
        await dequeue(connection, ended)
    await webhook_events.jobs_changed(connection, rows, now)
    return ended


async def _ring(connection: AsyncConnection, row: _EndedRow, now: datetime, linger: float) -> None:
    """Tell the workflow: at once when nothing else of its pipeline runs, and then of all that lingered."""
    if linger and (await connection.execute(_STILL_RUNS, {"b_pipeline": row.pipeline_id})).first() is not None:
        due = now + timedelta(seconds=linger)
        await outbox.put(connection, outbox.OUTCOME, row.pipeline_id, now, job_ids=[row.id], due=due)
        return
    if linger:
        await outbox.hasten(connection, row.pipeline_id, now)
    await outbox.put(connection, outbox.OUTCOME, row.pipeline_id, now, job_ids=[row.id])


async def _look_at_exit_code(connection: AsyncConnection, row: _EndedRow, exit_code: int | None) -> None:
    """Whether the failure is one that is allowed. What became of the row counts: a canceling job has not failed."""
    if row.status == Status.FAILED and row.exit_codes_allowed and not row.allow_failure:
        allowed = allows_failure(row.allow_failure, tuple(row.exit_codes_allowed), exit_code)
        await connection.execute(update(job).where(job.c.id == row.id).values(allow_failure=allowed))


_OUTCOMES: Final = select(
    job.c.id,
    job.c.status,
    job.c.hand_out,
    job.c.failure_reason,
    job.c.exit_code,
    job.c.started_at,
    job.c.allow_failure,
    job.c.auto_retry,
    job.c.folded,
    job.c.room,
).where(job.c.id.in_(bindparam("b_jobs", expanding=True)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended, whether that is folded already, and the room that waits for it."""

    verdict: Verdict
    folded: bool
    room: str


async def outcomes(connection: AsyncConnection, job_ids: Sequence[int]) -> dict[int, Outcome]:
    """The verdicts of these jobs."""
    return {
        row.id: Outcome(verdict_of(row), row.folded, row.room)
        for row in all_of(VerdictRow, await connection.execute(_OUTCOMES, {"b_jobs": list(job_ids)}))
    }


async def note_incomplete_log(connection: AsyncConnection, job_id: int) -> None:
    """Remember that the log of a job lacks something of what its runner had."""
    await connection.execute(update(job).where(job.c.id == job_id).values(log_incomplete=True))
