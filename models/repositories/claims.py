"""Claims: a runner takes a pending job; what it may have is in the query, and the hand-out is one transaction.

`FOR UPDATE SKIP LOCKED` on PostgreSQL, one writer on SQLite: a race never gives a job twice.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final

from sqlalchemy import Executable, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.matching import RunnerType
from domain.places import START
from domain.status import COMPLETE, Status, sources_of
from models.columns import Record, table_of
from models.pipelines import Lease, LeaseClock, Pipeline, QueueEntry, Stage, Trace
from models.repositories import deployments, queue, verdicts
from models.repositories.hand_outs import HandOut
from models.repositories.job_rows import job

entry = table_of(QueueEntry)
lease = table_of(Lease)
clock = table_of(LeaseClock)
pipeline = table_of(Pipeline)
stage = table_of(Stage)
trace = table_of(Trace)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who asks for a job. `request_id` names the request: its repetition gets the same job again.

    `features` are those that the runner says it has, None if it says nothing of them. `token_hash` is that of the token
    that was shown: if it is the runner's no more, there is no job.
    """

    runner_id: int
    system_id: str = ""
    request_id: str = ""
    cancel_gracefully: bool = False
    features: frozenset[str] | None = None
    token_hash: str | None = None


_GIVEN: Final = select(job).where(job.c.id == bindparam("b_job"))
_START: Final = (
    update(job)
    .where(job.c.id == queue.OLDEST.scalar_subquery())
    .where(or_(*(job.c.status == status for status in sources_of(Status.RUNNING))))
    .values(
        status=str(Status.RUNNING),
        started_at=bindparam("b_now"),
        hand_out=job.c.hand_out + 1,
        runner_id=bindparam("b_runner"),
        system_id=bindparam("b_system"),
        cancel_gracefully=bindparam("b_graceful"),
    )
    .returning(*job.c)
)
_DEQUEUE: Final = delete(entry).where(entry.c.job_id == bindparam("b_job"))
_LEASE: Final = insert(lease).values(
    job_id=bindparam("b_job"),
    load_of=bindparam("b_load_of"),
    hand_out=bindparam("b_hand_out"),
    taken_up=False,
    contact=func.coalesce(select(clock.c.ticks).scalar_subquery(), 0),
    since=func.coalesce(select(clock.c.ticks).scalar_subquery(), 0),
    request_id=bindparam("b_request"),
)
_NEW_TRACE: Final = insert(trace).values(
    job_id=bindparam("b_job"),
    generation=0,
    size=0,
    crc=0,
    earlier_size=0,
    earlier_crc=0,
    frozen=False,
    resent=False,
    copied=False,
    stored=False,
)
_FRESH_TRACE: Final = (
    update(trace)
    .where(trace.c.job_id == bindparam("b_job"))
    .values(generation=trace.c.generation + 1, size=0, crc=0, frozen=False, resent=False)
)
_LIFT_STAGE: Final = (
    update(stage)
    .where(stage.c.id == bindparam("b_stage"), stage.c.status != Status.RUNNING)
    .values(status=str(Status.RUNNING))
)
_LIFT_PIPELINE: Final = (
    update(pipeline)
    .where(
        pipeline.c.id == bindparam("b_pipeline"),
        or_(pipeline.c.status != Status.RUNNING, pipeline.c.started_at.is_(None)),
        *(pipeline.c.status != status for status in sorted(COMPLETE)),
    )
    .values(status=str(Status.RUNNING), started_at=bindparam("b_now"), updated_at=bindparam("b_now"))
)


async def take(connection: AsyncConnection, claim: Claim, now: datetime) -> Record | None:
    """Hand out the next job: its row, or None when there is nothing for this runner.

    The runner is looked at here: one that was paused or changed while it waited gets what it may have now. The lease is
    not taken up yet; `lift` must follow in the same transaction. A job whose deployment is outdated fails on the way,
    and the next one is looked at.
    """
    row = await queue.runner_of(connection, claim.runner_id, claim.request_id)
    if row is None or claim.token_hash not in {None, row.token_hash, row.previous_token_hash}:
        return None
    if row.given is not None:
        return (await connection.execute(_GIVEN, {"b_job": row.given})).one()
    while True:
        started = await _start(connection, row, claim, now)
        if started is None:
            return None
        if not await _must_fail(connection, started, now):
            await _open_hand_out(connection, started, claim, fair=row.runner_type == RunnerType.INSTANCE)
            return started


async def _start(connection: AsyncConnection, row: Record, claim: Claim, now: datetime) -> Record | None:
    """Let the job run whose turn it is; it is still in the queue then."""
    holder = {
        "b_now": now,
        "b_runner": claim.runner_id,
        "b_system": claim.system_id,
        "b_graceful": claim.cancel_gracefully,
    }
    for demand_id in await queue.demands_for(connection, row):
        started = (await connection.execute(_START, {"b_demand": demand_id, **holder})).first()
        if started is not None:
            return started
    return None


async def _must_fail(connection: AsyncConnection, row: Record, now: datetime) -> bool:
    """Whether a job must not deploy any more; it has failed then. Jobs that deploy nothing cost no query."""
    reason = await deployments.objection(connection, row) if row.environment_action == START else ""
    if reason:
        await verdicts.end_jobs(connection, [row.id], Status.FAILED, now, reason=reason)
    return bool(reason)


async def lift(connection: AsyncConnection, hand_out: HandOut, now: datetime) -> None:
    """Stage and pipeline run as soon as one of their jobs does.

    The stage is held since the hand-out was read, so its status is still what it was. A pipeline that runs is never
    lowered while one of its jobs is open.
    """
    if hand_out.stage_status != Status.RUNNING:
        await connection.execute(_LIFT_STAGE, {"b_stage": hand_out.job.stage_id})
    if not (hand_out.pipeline.status == Status.RUNNING and hand_out.pipeline.started_at):
        await connection.execute(_LIFT_PIPELINE, {"b_pipeline": hand_out.job.pipeline_id, "b_now": now})


async def _open_hand_out(connection: AsyncConnection, row: Record, claim: Claim, *, fair: bool) -> None:
    values = {
        "b_job": row.id,
        "b_load_of": row.project_id if fair else None,
        "b_hand_out": row.hand_out,
        "b_request": claim.request_id,
    }
    for statement in _opening(connection.dialect.name, is_first=row.hand_out == 1):
        await connection.execute(statement, values)


@cache
def _opening(dialect: str, *, is_first: bool) -> tuple[Executable, ...]:
    """What opens a hand-out: in one round trip where a statement may hold several.

    A hand-out that nobody took up wrote nothing; the next one begins a log of its own all the same.
    """
    log = _NEW_TRACE if is_first else _FRESH_TRACE
    if dialect == "sqlite":
        return _DEQUEUE, _LEASE, log
    return (log.add_cte(_DEQUEUE.cte("dequeued"), _LEASE.cte("leased")),)
