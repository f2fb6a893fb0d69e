"""Claims: a runner takes a pending job; what it may have is in the query, and the hand-out is one transaction.

`FOR UPDATE SKIP LOCKED` on PostgreSQL, one writer on SQLite: a race never gives a job twice.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.matching import RunnerType
from domain.places import START
from domain.status import COMPLETE, Status, sources_of
from models.columns import Record, table_of
from models.pipelines import Lease, LeaseClock, Pipeline, Stage, Trace
from models.repositories import deployments, queue, verdicts
from models.repositories.hand_outs import HandOut
from models.repositories.job_rows import job

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


_SAME_REQUEST: Final = (
    select(job)
    .join(lease, job.c.id == lease.c.job_id)
    .where(lease.c.request_id == bindparam("b_request"), ~lease.c.taken_up, job.c.runner_id == bindparam("b_runner"))
)
_START: Final = (
    update(job)
    .where(job.c.id == bindparam("b_job"), or_(*(job.c.status == status for status in sources_of(Status.RUNNING))))
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
    job_id=bindparam("b_job"), generation=0, size=0, crc=0, frozen=False, resent=False, stored=False
)
_FRESH_TRACE: Final = (
    update(trace)
    .where(trace.c.job_id == bindparam("b_job"))
    .values(generation=trace.c.generation + 1, size=0, crc=0, frozen=False, resent=False)
)
_HOLD_STAGE: Final = (
    select(stage.c.status).where(stage.c.id == bindparam("b_stage")).with_for_update(read=True, key_share=True)
)
"""Against a decision that folds the stage at this moment; claims do not wait for each other."""
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
    row = await queue.runner_of(connection, claim.runner_id)
    if row is None or claim.token_hash not in {None, row.token_hash, row.previous_token_hash}:
        return None
    again = await _same_request(connection, claim)
    if again is not None:
        return again
    while True:
        picked = await _pick(connection, row)
        if picked is None:
            return None
        holder = {
            "b_runner": claim.runner_id,
            "b_system": claim.system_id,
            "b_graceful": claim.cancel_gracefully,
        }
        started = (await connection.execute(_START, {"b_job": picked, "b_now": now, **holder})).first()
        if started is not None and not await _must_fail(connection, started, now):
            await _open_hand_out(connection, started, claim, fair=row.runner_type == RunnerType.INSTANCE)
            return started


async def _pick(connection: AsyncConnection, row: Record) -> int | None:
    for demand_id in await queue.demands_for(connection, row):
        picked = await queue.pick(connection, demand_id)
        if picked is not None:
            return picked
    return None


async def _must_fail(connection: AsyncConnection, row: Record, now: datetime) -> bool:
    """Whether a job must not deploy any more; it has failed then. Jobs that deploy nothing cost no query."""
    reason = await deployments.objection(connection, row) if row.environment_action == START else ""
    if reason:
        await verdicts.end_jobs(connection, [row.id], Status.FAILED, now, reason=reason, queued=False)
    return bool(reason)


async def _same_request(connection: AsyncConnection, claim: Claim) -> Record | None:
    """A claim whose answer was lost: nobody has called for that job yet."""
    if not claim.request_id:
        return None
    asked = {"b_request": claim.request_id, "b_runner": claim.runner_id}
    return (await connection.execute(_SAME_REQUEST, asked)).first()


async def lift(connection: AsyncConnection, hand_out: HandOut, now: datetime) -> None:
    """Stage and pipeline run as soon as one of their jobs does.

    Where transactions run side by side, the stage's status that was just read may be lowered before this one ends:
    there the stage is held until then, and its status is the one that it has when it is. A pipeline that runs is never
    lowered while one of its jobs is open.
    """
    status = hand_out.stage_status
    if connection.dialect.name != "sqlite":
        status = (await connection.execute(_HOLD_STAGE, {"b_stage": hand_out.job.stage_id})).scalar_one()
    if status != Status.RUNNING:
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
    await connection.execute(_LEASE, values)
    if row.hand_out == 1:
        await connection.execute(_NEW_TRACE, {"b_job": row.id})
    else:  # a hand-out that nobody took up wrote nothing; this one begins a log of its own all the same
        await connection.execute(_FRESH_TRACE, {"b_job": row.id})
