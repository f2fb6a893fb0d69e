"""Claims: a runner takes a pending job. All eligibility is in the query; the hand-out is one transaction.

`FOR UPDATE SKIP LOCKED` on PostgreSQL, one writer on SQLite: a race never gives a job twice.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, exists, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.status import COMPLETE, Status
from models.columns import Record, table_of
from models.pipelines import Lease, LeaseClock, Pipeline, QueueEntry, QueueTag, Stage, Trace
from models.repositories.job_rows import dequeue, job, set_status
from models.tables import Runner

lease = table_of(Lease)
clock = table_of(LeaseClock)
pipeline = table_of(Pipeline)
queue = table_of(QueueEntry)
queue_tag = table_of(QueueTag)
stage = table_of(Stage)
trace = table_of(Trace)
runner = table_of(Runner)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who asks for a job. `request_id` names the request: its repetition gets the same job again."""

    runner_id: int
    runner_type: str
    project_id: int | None
    tags: tuple[str, ...]
    run_untagged: bool
    ref_protected: bool
    system_id: str = ""
    request_id: str = ""
    cancel_gracefully: bool = False


def _eligible(claim: Claim) -> list[ColumnElement[bool]]:
    """A runner may take a job of its projects if it has all the job's tags (reference: runner protocol, section 11)."""
    foreign = exists().where(queue_tag.c.job_id == queue.c.job_id, queue_tag.c.tag.not_in(claim.tags))
    rules = [~and_(queue.c.tagged, foreign)]
    if not claim.run_untagged:
        rules.append(queue.c.tagged)
    if claim.ref_protected:
        rules.append(queue.c.ref_protected)
    if claim.runner_type == "project_type":
        rules.append(queue.c.project_id == claim.project_id)
    return rules


def candidates(claim: Claim) -> Select[Any]:
    """The jobs that a runner may take, first come first."""
    return select(queue.c.job_id).where(*_eligible(claim)).order_by(queue.c.job_id)


async def take(connection: AsyncConnection, claim: Claim, now: datetime) -> tuple[int, int] | None:
    """Hand out the next job: (job id, hand-out), or None when there is nothing for this runner.

    Job, stage and pipeline are running when this commits; the lease is not taken up yet.
    """
    again = await _same_request(connection, claim)
    if again is not None:
        return again
    found = (await connection.execute(candidates(claim).limit(1).with_for_update(skip_locked=True, of=queue))).scalar()
    if found is None:
        return None
    job_id: int = found
    await dequeue(connection, [job_id])
    moved = await set_status(
        connection,
        [job_id],
        Status.RUNNING,
        now,
        hand_out=job.c.hand_out + 1,
        runner_id=claim.runner_id,
        system_id=claim.system_id,
        cancel_gracefully=claim.cancel_gracefully,
    )
    if not moved:
        return await take(connection, claim, now)
    return job_id, await _open_hand_out(connection, job_id, claim, now)


async def _same_request(connection: AsyncConnection, claim: Claim) -> tuple[int, int] | None:
    """A claim whose answer was lost: nobody has called for that job yet."""
    if not claim.request_id:
        return None
    statement = (
        select(lease.c.job_id, lease.c.hand_out)
        .join(job, job.c.id == lease.c.job_id)
        .where(lease.c.request_id == claim.request_id, ~lease.c.taken_up, job.c.runner_id == claim.runner_id)
    )
    row = (await connection.execute(statement)).first()
    return (row.job_id, row.hand_out) if row is not None else None


async def _open_hand_out(connection: AsyncConnection, job_id: int, claim: Claim, now: datetime) -> int:
    row = (
        await connection.execute(select(job.c.hand_out, job.c.stage_id, job.c.pipeline_id).where(job.c.id == job_id))
    ).one()
    ticks = (await connection.execute(select(clock.c.ticks))).scalar() or 0
    await connection.execute(delete(lease).where(lease.c.job_id == job_id))
    await connection.execute(
        insert(lease).values(
            job_id=job_id, hand_out=row.hand_out, taken_up=False, contact=ticks, request_id=claim.request_id
        )
    )
    if row.hand_out == 1:
        await connection.execute(insert(trace).values(job_id=job_id))
    else:
        await _fresh_trace(connection, job_id)
    await _lift(connection, row, now)
    return int(row.hand_out)


async def _fresh_trace(connection: AsyncConnection, job_id: int) -> None:
    """A hand-out that nobody took up wrote nothing; the next one begins a log of its own all the same."""
    known = await connection.execute(
        update(trace)
        .where(trace.c.job_id == job_id)
        .values(generation=trace.c.generation + 1, size=0, crc=0, frozen=False, resent=False)
    )
    if known.rowcount == 0:
        await connection.execute(insert(trace).values(job_id=job_id))


async def _lift(connection: AsyncConnection, row: Record, now: datetime) -> None:
    """Stage and pipeline run as soon as one of their jobs does."""
    await connection.execute(
        update(stage).where(stage.c.id == row.stage_id, stage.c.status != Status.RUNNING).values(status=Status.RUNNING)
    )
    await connection.execute(
        update(pipeline)
        .where(
            pipeline.c.id == row.pipeline_id,
            or_(pipeline.c.status != Status.RUNNING, pipeline.c.started_at.is_(None)),
            pipeline.c.status.not_in(COMPLETE),
        )
        .values(status=Status.RUNNING, started_at=now, updated_at=now)
    )


async def any_for(connection: AsyncConnection, claim: Claim) -> bool:
    """Whether there is a job for this runner, or one that it was given already: a look that locks nothing."""
    if (await connection.execute(candidates(claim).limit(1))).first() is not None:
        return True
    return await _same_request(connection, claim) is not None
