"""Claims: a runner takes a pending job. All eligibility is in the query; the hand-out is one transaction.

`FOR UPDATE SKIP LOCKED` on PostgreSQL, one writer on SQLite: a race never gives a job twice.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.places import START
from domain.status import COMPLETE, Status, sources_of
from models.columns import Record, table_of
from models.pipelines import Lease, LeaseClock, Pipeline, QueueEntry, QueueTag, Stage, Trace
from models.repositories import deployments, verdicts
from models.repositories.hand_outs import HandOut
from models.repositories.job_rows import job
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


def _eligible(tags: bool, run_untagged: bool, ref_protected: bool, one_project: bool) -> list[ColumnElement[bool]]:
    """A runner may take a job of its projects if it has all the job's tags (reference: runner protocol, section 11)."""
    foreign = exists().where(queue_tag.c.job_id == queue.c.job_id)
    if tags:
        foreign = foreign.where(queue_tag.c.tag.not_in(bindparam("b_tags", expanding=True)))
    rules = [~and_(queue.c.tagged, foreign)]
    if not run_untagged:
        rules.append(queue.c.tagged)
    if ref_protected:
        rules.append(queue.c.ref_protected)
    if one_project:
        rules.append(queue.c.project_id == bindparam("b_project"))
    return rules


@cache
def _candidates(*shape: bool) -> Select[Any]:
    """The first job that runners of this shape may take: first come, first served."""
    return select(queue.c.job_id).where(*_eligible(*shape)).order_by(queue.c.job_id).limit(1)


@cache
def _pick(*shape: bool) -> Any:
    """Takes the first job out of the queue; one that another claim holds is passed over."""
    first = _candidates(*shape).with_for_update(skip_locked=True, of=queue).scalar_subquery()
    return delete(queue).where(queue.c.job_id == first).returning(queue.c.job_id, queue.c.tagged)


def _shape(claim: Claim) -> tuple[bool, bool, bool, bool]:
    return bool(claim.tags), claim.run_untagged, claim.ref_protected, claim.runner_type == "project_type"


def _wishes(claim: Claim) -> dict[str, Any]:
    wishes: dict[str, Any] = {"b_tags": list(claim.tags)} if claim.tags else {}
    if claim.runner_type == "project_type":
        wishes["b_project"] = claim.project_id
    return wishes


_SAME_REQUEST: Final = (
    select(job)
    .join(lease, job.c.id == lease.c.job_id)
    .where(lease.c.request_id == bindparam("b_request"), ~lease.c.taken_up, job.c.runner_id == bindparam("b_runner"))
)
_FORGET_TAGS: Final = delete(queue_tag).where(queue_tag.c.job_id == bindparam("b_job"))
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
    select(stage.c.id).where(stage.c.id == bindparam("b_stage")).with_for_update(read=True, key_share=True)
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


async def any_for(connection: AsyncConnection, claim: Claim) -> bool:
    """Whether there is a job for this runner, or one that it was given already: a look that locks nothing."""
    if (await connection.execute(_candidates(*_shape(claim)), _wishes(claim))).first() is not None:
        return True
    return await _same_request(connection, claim) is not None


async def take(connection: AsyncConnection, claim: Claim, now: datetime) -> Record | None:
    """Hand out the next job: its row, or None when there is nothing for this runner.

    The lease is not taken up yet; `lift` must follow in the same transaction. A job whose deployment is outdated fails
    on the way, and the next one is looked at.
    """
    again = await _same_request(connection, claim)
    if again is not None:
        return again
    while True:
        picked = (await connection.execute(_pick(*_shape(claim)), _wishes(claim))).first()
        if picked is None:
            return None
        if picked.tagged:
            await connection.execute(_FORGET_TAGS, {"b_job": picked.job_id})
        holder = {
            "b_runner": claim.runner_id,
            "b_system": claim.system_id,
            "b_graceful": claim.cancel_gracefully,
        }
        row = (await connection.execute(_START, {"b_job": picked.job_id, "b_now": now, **holder})).first()
        if row is not None and not await _must_fail(connection, row, now):
            await _open_hand_out(connection, row, claim)
            return row


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

    Where transactions run side by side, a status that was just read may be lowered before this one ends: there the
    stage is held until then, also if it runs already.
    """
    alone = connection.dialect.name == "sqlite"
    if not alone:
        await connection.execute(_HOLD_STAGE, {"b_stage": hand_out.job.stage_id})
    if not (alone and hand_out.stage_status == Status.RUNNING):
        await connection.execute(_LIFT_STAGE, {"b_stage": hand_out.job.stage_id})
    if not (alone and hand_out.pipeline.status == Status.RUNNING and hand_out.pipeline.started_at):
        await connection.execute(_LIFT_PIPELINE, {"b_pipeline": hand_out.job.pipeline_id, "b_now": now})


async def _open_hand_out(connection: AsyncConnection, row: Record, claim: Claim) -> None:
    values = {"b_job": row.id, "b_hand_out": row.hand_out, "b_request": claim.request_id}
    await connection.execute(_LEASE, values)
    if row.hand_out == 1:
        await connection.execute(_NEW_TRACE, {"b_job": row.id})
    else:  # a hand-out that nobody took up wrote nothing; this one begins a log of its own all the same
        await connection.execute(_FRESH_TRACE, {"b_job": row.id})
