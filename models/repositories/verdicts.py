"""Verdicts: how attempts end. Verdict and outbox row are one transaction; the outbox is only the bell."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import case, delete, literal, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.status import OPEN, Status
from domain.verdict import Verdict, allows_failure
from models.columns import Record, table_of
from models.pipelines import Lease, Trace
from models.repositories import outbox
from models.repositories.job_rows import dequeue, job

lease = table_of(Lease)
trace = table_of(Trace)


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
) -> list[int]:
    """End open jobs with one verdict; a canceling one becomes canceled whatever the verdict says.

    `hand_out` fences: only that hand-out may end the job. `tell` is false when the workflow itself is the caller.
    Gives back the ids of the jobs that ended.
    """
    ending = case((job.c.status == Status.CANCELING, literal(str(Status.CANCELED))), else_=literal(str(status)))
    statement = (
        update(job)
        .where(job.c.id.in_(sorted(ids)), job.c.status.in_(OPEN))
        .values(status=ending, finished_at=now, failure_reason=reason, exit_code=exit_code, folded=False)
        .returning(job.c.id, job.c.pipeline_id, job.c.allow_failure, job.c.exit_codes_allowed)
    )
    if hand_out is not None:
        statement = statement.where(job.c.hand_out == hand_out)
    rows = (await connection.execute(statement)).all()
    for row in rows:
        await _look_at_exit_code(connection, row, status, exit_code)
    ended = [row.id for row in rows]
    await _clean_up(connection, ended)
    for row in rows if tell else ():
        await outbox.put(connection, outbox.OUTCOME, row.pipeline_id, now, job_ids=[row.id])
    return ended


async def _look_at_exit_code(connection: AsyncConnection, row: Record, status: Status, exit_code: int | None) -> None:
    if status is Status.FAILED and row.exit_codes_allowed and not row.allow_failure:
        allowed = allows_failure(row.allow_failure, tuple(row.exit_codes_allowed), exit_code)
        await connection.execute(update(job).where(job.c.id == row.id).values(allow_failure=allowed))


async def _clean_up(connection: AsyncConnection, ended: list[int]) -> None:
    if not ended:
        return
    await dequeue(connection, ended)
    await connection.execute(delete(lease).where(lease.c.job_id.in_(ended)))
    await connection.execute(update(trace).where(trace.c.job_id.in_(ended)).values(frozen=True))


async def outcome(connection: AsyncConnection, job_ids: Sequence[int]) -> dict[int, tuple[Verdict, bool]]:
    """The verdicts of these jobs, and whether each is folded already."""
    statement = select(
        job.c.id,
        job.c.status,
        job.c.hand_out,
        job.c.failure_reason,
        job.c.exit_code,
        job.c.allow_failure,
        job.c.auto_retry,
        job.c.folded,
    ).where(job.c.id.in_(job_ids))
    return {
        row.id: (
            Verdict(
                row.id,
                Status(row.status),
                row.hand_out,
                row.failure_reason,
                row.exit_code,
                row.allow_failure,
                row.auto_retry,
            ),
            row.folded,
        )
        for row in (await connection.execute(statement)).all()
    }
