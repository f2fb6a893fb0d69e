"""Cancelling jobs: one UPDATE over all live states.

What no runner holds is canceled; what a runner holds is `canceling` if the runner can stop gracefully, else canceled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, case, delete, literal, or_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import LIVE, OPEN, Status
from models.columns import table_of
from models.repositories import database_time
from models.repositories.hooks import webhook_events
from models.repositories.logs import traces
from models.repositories.pipelines import completions, outbox
from models.repositories.pipelines.job_rows import dequeue, job, lock
from models.repositories.pipelines.verdicts import IS_BEGUN
from models.rows.pipelines import EndedJobRow
from models.tables.logs import Trace
from models.tables.queue import Lease
from models.typed_rows import all_of

lease = table_of(Lease)
trace = table_of(Trace)


@dataclass(frozen=True, slots=True)
class _CanceledRow(EndedJobRow):
    """A job that was canceled, or asked to stop."""

    folded: bool


async def cancel_jobs(connection: AsyncConnection, pipeline_id: int, ids: Sequence[int], now: datetime) -> None:
    """Cancel these jobs; those that an activity waits for get a verdict and an outbox row.

    How long a job takes to stop is measured by the database's clock.
    """
    await lock(connection, ids)
    asked_at = await database_time.moment(connection)
    graceful = and_(job.c.status == Status.RUNNING, job.c.cancel_gracefully)
    mirrored = and_(job.c.status == Status.MANUAL, job.c.downstream_id.is_not(None))
    awaited = or_(and_(job.c.status.in_(OPEN), ~graceful), mirrored)
    statement = (
        update(job)
        .where(job.c.id.in_(sorted(ids)), job.c.status.in_(LIVE - {Status.CANCELING}))
        .values(
            status=case((graceful, literal(str(Status.CANCELING))), else_=literal(str(Status.CANCELED))),
            canceling_at=case((graceful, literal(asked_at, job.c.canceling_at.type)), else_=job.c.canceling_at),
            finished_at=case((graceful, job.c.finished_at), else_=literal(now, job.c.finished_at.type)),
            folded=case((awaited, literal(False)), else_=job.c.folded),
            log_incomplete=case((graceful, job.c.log_incomplete), else_=or_(job.c.log_incomplete, IS_BEGUN)),
        )
        .returning(*completions.COLUMNS, job.c.folded)
    )
    rows = all_of(_CanceledRow, await connection.execute(statement))
    await completions.ended(connection, [row for row in rows if row.status == Status.CANCELED], now)
    ended = [row.id for row in rows if row.status == Status.CANCELED]
    await dequeue(connection, ended)
    await connection.execute(delete(lease).where(lease.c.job_id.in_(ended)))
    await traces.settle(connection, ended)
    await connection.execute(update(trace).where(trace.c.job_id.in_(ended)).values(frozen=True))
    await outbox.put(connection, outbox.OUTCOME, pipeline_id, now, job_ids=[row.id for row in rows if not row.folded])
    await _stop_retries(connection, ids)
    await webhook_events.jobs_changed(connection, rows, now)


async def _stop_retries(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """A failure that came in just before the cancel must not start another attempt after it."""
    await connection.execute(update(job).where(job.c.id.in_(sorted(ids))).values(auto_retry=False))
