"""Decisions of pipeline workflows: recording what they decided.

Lock order: jobs by id, stages, pipeline. The guard on (`run`, `tick`) is checked before the first write and again by
the last one, so that a zombie attempt of an activity, or an old run after a reset, changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from sqlalchemy import and_, bindparam, exists, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.messages import Answer, Decision, Recorded
from domain.pipelines.operations import Attempt
from domain.pipelines.pipeline import Job as JobSnapshot
from domain.pipelines.redundancy import STARTED
from domain.pipelines.running_time import running_time
from domain.pipelines.status import COMPLETE, OPEN, Status, settled
from domain.pipelines.transitions import Transition
from domain.pipelines.verdict import PROTECTED_ENVIRONMENT, Verdict
from models.columns import table_of
from models.repositories.environments import deploy_permissions, deployments
from models.repositories.hooks import webhook_events
from models.repositories.pipelines import operation_callers, outbox, pinned_steps, play_variables, resource_groups
from models.repositories.pipelines.attempts import add_attempts, attempts_of
from models.repositories.pipelines.cancellation import cancel_jobs
from models.repositories.pipelines.children import cancel_children
from models.repositories.pipelines.folding import counts_as, fold_stages
from models.repositories.pipelines.job_rows import job, lock, move, set_status
from models.repositories.pipelines.loading import Head, head
from models.repositories.pipelines.loading import answers as kept_answers
from models.repositories.pipelines.verdicts import end_jobs
from models.repositories.projects import subscriptions
from models.session import Database
from models.tables.cross_pod import CrossPodUpstream
from models.tables.outbox import OperationKey
from models.tables.pipelines import Pipeline

pipeline = table_of(Pipeline)
operation_key = table_of(OperationKey)
cross_pod_upstream = table_of(CrossPodUpstream)


class Stale(Exception):
    """The decision is not newer than the last one recorded, or it answers a command that was answered before."""


@dataclass(frozen=True, slots=True)
class Written:
    """The rows after a decision, and the kinds of outbox rows that it put: somebody can be woken to carry them out.

    `ended` says that the pipeline has ended by this decision. `changed_in` is its project if it has another status now.
    """

    recorded: Recorded
    put: frozenset[str] = frozenset()
    ended: bool = False
    changed_in: int | None = None


async def record_or_read(database: Database, decision: Decision, now: datetime) -> Written:
    """Record a decision in one transaction; a stale one changes nothing and gets the rows as they are."""
    try:
        async with database.write() as connection:
            return await record(connection, decision, now)
    except Stale:
        async with database.read() as connection:
            return Written(await _as_it_is(connection, decision))


async def record(connection: AsyncConnection, decision: Decision, now: datetime) -> Written:
    """Write a decision. Raises `Stale` (the transaction must then be rolled back)."""
    before = await head(connection, decision.pipeline_id)
    if (before.run, before.tick) >= (decision.run, decision.tick) or await _is_repeated(connection, decision):
        raise Stale
    put: set[str] = set()
    await _fold(connection, decision.verdicts, now)
    await operation_callers.give_moved(connection, decision)
    for to, group in groupby(decision.transitions, key=lambda transition: transition.to):
        put |= await _move(connection, decision, to, list(group), now)
    await _move_in(connection, decision)
    await add_attempts(connection, decision.attempts, now)
    slots = await resource_groups.take(connection, decision.takes) if decision.takes else ()
    made = await attempts_of(connection, decision.attempts)
    await operation_callers.give_made(connection, decision, made)
    answered = await _answer(connection, decision, now)
    await webhook_events.jobs_made(connection, [row.id for row in made.values()], before.watched, now)
    if decision.cancel:
        await cancel_jobs(connection, decision.pipeline_id, _rows_of(decision.cancel, made), now)
        made = await attempts_of(connection, decision.attempts)
    for answer in decision.answers:
        is_cancel = answer.name == "cancel_pipeline" and not answer.refused
        if is_cancel and await cancel_children(connection, decision.pipeline_id, answer.key, now):
            put.add(outbox.COMMAND)
    if is_canceled := await _cancel_redundant(connection, decision, now) or bool(decision.cancel):
        put.add(outbox.OUTCOME)
    status = await _refold(connection, decision, before, now)
    if status != before.status:
        put |= await _tell_followers(connection, decision.pipeline_id, now)
    if status != before.status and status is Status.SUCCESS:
        put |= await subscriptions.note_success(connection, decision.pipeline_id, now)
    await _explain(connection, decision, is_canceled=is_canceled)
    recorded = Recorded(
        status=status,
        statuses=await _named(connection, decision),
        attempts=tuple(made.values()),
        answers=answered,
        slots=slots,
    )
    is_changed = status != before.status
    return Written(
        recorded,
        frozenset(put),
        ended=is_changed and status in COMPLETE,
        changed_in=before.project_id if is_changed else None,
    )


_jobs: Any = bindparam("b_jobs", expanding=True)
_STATUSES: Final = select(job.c.id, job.c.status, job.c.folded).where(job.c.id.in_(_jobs), ~job.c.retried)
_STILL_OPEN: Final = select(job.c.id).where(job.c.id.in_(_jobs), job.c.status.in_(sorted(OPEN))).order_by(job.c.id)
_FOLD: Final = update(job).where(job.c.id.in_(_jobs)).values(folded=True)
_ALLOW: Final = update(job).where(job.c.id == bindparam("b_job")).values(allow_failure=True)
_SET_PIPELINE: Final = (
    update(pipeline)
    .where(
        pipeline.c.id == bindparam("b_pipeline"),
        or_(
            pipeline.c.run < bindparam("b_run"),
            and_(pipeline.c.run == bindparam("b_run"), pipeline.c.tick < bindparam("b_tick")),
        ),
    )
    .values(
        run=bindparam("b_run"),
        tick=bindparam("b_tick"),
        status=bindparam("b_status"),
        updated_at=bindparam("b_now"),
        finished_at=bindparam("b_finished"),
    )
)
_SET_DURATION: Final = (
    update(pipeline).where(pipeline.c.id == bindparam("b_pipeline")).values(duration=bindparam("b_duration"))
)
_PERIODS: Final = select(job.c.started_at, job.c.finished_at).where(
    job.c.pipeline_id == bindparam("b_pipeline"),
    ~job.c.retried,
    job.c.started_at.is_not(None),
    job.c.status.in_((Status.SUCCESS, Status.FAILED, Status.CANCELED)),
)
_AT_REST: Final = COMPLETE | {Status.MANUAL, Status.SCHEDULED}
_STATUS: Final = select(pipeline.c.status).where(pipeline.c.id == bindparam("b_pipeline"))
_FOLLOWERS: Final = select(
    exists().where(job.c.downstream_id == bindparam("b_pipeline"), ~job.c.retried).label("here"),
    exists().where(cross_pod_upstream.c.pipeline_id == bindparam("b_pipeline")).label("elsewhere"),
)


async def _fold(connection: AsyncConnection, verdicts: tuple[Verdict, ...], now: datetime) -> None:
    """Mark verdicts as folded. One that SQL does not know was given by hand in Temporal: it becomes the row's."""
    if not verdicts:
        return
    by_hand = {verdict.job_id: verdict for verdict in verdicts if not verdict.of_row}
    if by_hand:
        rows = await connection.execute(_STILL_OPEN, {"b_jobs": sorted(by_hand)})
        for job_id in rows.scalars().all():
            verdict = by_hand[job_id]
            await end_jobs(connection, [job_id], verdict.status, now, reason=verdict.reason, tell=False)
            if verdict.allow_failure:  # the workflow goes on as if it were, so it must be what SQL says
                await connection.execute(_ALLOW, {"b_job": job_id})
    ids = sorted(verdict.job_id for verdict in verdicts)
    await connection.execute(_FOLD, {"b_jobs": ids})
    await outbox.retire(connection, ids)


async def _is_repeated(connection: AsyncConnection, decision: Decision) -> bool:
    """Whether a command of the decision was answered before: its run did not know so old a key."""
    keys = [answer.key for answer in decision.answers if answer.key]
    return bool(keys and await kept_answers(connection, decision.pipeline_id, keys))


async def _move(
    connection: AsyncConnection, decision: Decision, to: Status, group: Sequence[Transition], now: datetime
) -> set[str]:
    """Move jobs to one status; the kinds of outbox rows that this put."""
    ids = [transition.job_id for transition in group]
    if to is Status.SCHEDULED:
        for transition in group:
            await set_status(connection, [transition.job_id], to, now, due_at=transition.due_at)
        return set()
    room = {"room": decision.room} if to is Status.PENDING else {}
    moved = await move(connection, ids, to, now, **room)
    placed = [row.id for row in moved if row.environment_action]
    if to in {Status.PENDING, Status.WAITING_FOR_RESOURCE}:
        await deployments.open_missing(connection, placed, now)
    ended = await _end_refused(connection, placed, now) if to is Status.PENDING else set()
    grouped = {row.id: row.resource_group_id for row in moved if row.resource_group_id is not None}
    if to is Status.CREATED and grouped:
        await resource_groups.forget(connection, grouped)
    if to in {Status.WAITING_FOR_RESOURCE, Status.SKIPPED, Status.MANUAL} and grouped:
        await _ask_groups(connection, decision.pipeline_id, set(grouped.values()), now)
        return {outbox.GROUP}
    return ended | ({outbox.BRIDGE} if to is Status.PENDING and any(row.bridge for row in moved) else set())


async def _end_refused(connection: AsyncConnection, ids: Sequence[int], now: datetime) -> set[str]:
    """Jobs that are enqueued fail at once where their users may not deploy: no runner sees them.

    The verdict goes the way of every other one, since the workflow waits for them already.
    """
    refused = await deploy_permissions.refused_jobs(connection, ids)
    ended = await end_jobs(connection, refused, Status.FAILED, now, reason=PROTECTED_ENVIRONMENT)
    return {outbox.OUTCOME} if ended else set()


async def _ask_groups(connection: AsyncConnection, pipeline_id: int, groups: Iterable[int], now: datetime) -> None:
    """Jobs wait for the slots of these groups from now on, or no more slot is kept for them."""
    for group in sorted(groups):
        await outbox.put(connection, outbox.GROUP, pipeline_id, now, payload={"group": group})


async def _move_in(connection: AsyncConnection, decision: Decision) -> None:
    """Another workflow waits for these open jobs from now on."""
    if decision.moves:
        await connection.execute(update(job).where(job.c.id.in_(decision.moves)).values(room=decision.room))


async def _cancel_redundant(connection: AsyncConnection, decision: Decision, now: datetime) -> bool:
    """Cancel what a newer commit made redundant, unless too much has begun by now; whether it was canceled.

    The rows are locked first, so that no claim slips in between.
    """
    if not decision.redundant:
        return False
    ids = sorted(decision.redundant)
    await lock(connection, ids)
    if decision.unless_started:
        started = select(job.c.id).where(
            job.c.pipeline_id == decision.pipeline_id,
            ~job.c.retried,
            ~job.c.interruptible,
            job.c.status.in_(sorted(STARTED)),
        )
        if (await connection.execute(started.limit(1))).first() is not None:
            return False
    await cancel_jobs(connection, decision.pipeline_id, ids, now)
    return True


async def _answer(connection: AsyncConnection, decision: Decision, now: datetime) -> tuple[Answer, ...]:
    """Keep the answers, with the rows that were made in the place of negative ids."""
    answered = []
    for answer in decision.answers:
        followed = [Attempt(-job_id) for job_id in answer.jobs if job_id < 0]
        made = await attempts_of(connection, followed)
        answered.append(replace(answer, jobs=_rows_of(answer.jobs, made)))
        await _keep_answer(connection, decision.pipeline_id, answered[-1], now)
    return tuple(answered)


async def _keep_answer(connection: AsyncConnection, pipeline_id: int, answer: Answer, now: datetime) -> None:
    given = [{"key": key, "value": value} for key, value in answer.variables.items()]
    kept = await play_variables.take(connection, pipeline_id, answer.key) if answer.key else play_variables.Given()
    written: dict[str, Any] = {"variables": [*kept.variables, *given], "inputs": kept.inputs}
    changed = {name: value for name, value in written.items() if value}
    if changed and answer.jobs:
        await connection.execute(update(job).where(job.c.id.in_(answer.jobs)).values(**changed))
    if answer.key and answer.name == "retry_job":
        await pinned_steps.give(connection, pipeline_id, answer)
    if answer.key:
        caller = await operation_callers.take(connection, pipeline_id, answer)
        document = {"name": answer.name, "job_id": answer.job_id, "refused": answer.refused, "jobs": answer.jobs}
        await connection.execute(
            insert(operation_key).values(
                pipeline_id=pipeline_id, key=answer.key, answer=document, caller_id=caller, created_at=now
            )
        )


def _rows_of(ids: Iterable[int], made: Mapping[int, JobSnapshot]) -> tuple[int, ...]:
    """Job ids with those of new rows in the place of negative ones (`domain.pipelines.pipeline.Job`)."""
    return tuple(job_id if job_id > 0 else made[-job_id].id for job_id in ids)


async def _refold(connection: AsyncConnection, decision: Decision, before: Head, now: datetime) -> Status:
    """Fold the rows into stage and pipeline statuses, holding the stages so that no claim slips in between."""
    folded = await fold_stages(connection, decision.pipeline_id)
    values = {"b_pipeline": decision.pipeline_id}
    status = settled(Status(before.status), folded)
    is_heard = webhook_events.is_status_heard(before.watched, status)
    was = (await connection.execute(_STATUS, values)).scalar_one() if is_heard else before.status
    number = {"b_pipeline": decision.pipeline_id, "b_run": decision.run, "b_tick": decision.tick}
    ended = now if status in COMPLETE else None
    written = await connection.execute(
        _SET_PIPELINE, {**number, "b_status": str(status), "b_now": now, "b_finished": ended}
    )
    if written.rowcount == 0:
        raise Stale
    if status in _AT_REST:
        periods = [(begin, end or now) for begin, end in await connection.execute(_PERIODS, values)]
        await connection.execute(_SET_DURATION, values | {"b_duration": running_time(periods) if periods else None})
    if status != was:
        await webhook_events.pipeline_changed(connection, decision.pipeline_id, before.watched, status, now)
    return status


async def _tell_followers(connection: AsyncConnection, pipeline_id: int, now: datetime) -> set[str]:
    """The bridges that follow this pipeline, here or in another pod, are to take over its status."""
    there = (await connection.execute(_FOLLOWERS, {"b_pipeline": pipeline_id})).one()
    put = {kind for kind, is_asked in zip((outbox.FOLLOW, outbox.TELL_UPSTREAM), there, strict=True) if is_asked}
    for kind in sorted(put):
        await outbox.put(connection, kind, pipeline_id, now)
    return put


async def _explain(connection: AsyncConnection, decision: Decision, *, is_canceled: bool) -> None:
    """Say why the pipeline was canceled; what is tried again needs no such words any more."""
    if decision.reason and is_canceled:
        reason = decision.reason
    elif decision.attempts and decision.answers:
        reason = ""
    else:
        return
    await connection.execute(update(pipeline).where(pipeline.c.id == decision.pipeline_id).values(status_reason=reason))


async def _named(connection: AsyncConnection, decision: Decision) -> dict[int, Status]:
    """The rows that the decision spoke of, as they really are."""
    spoken = {transition.job_id for transition in decision.transitions}
    spoken |= {verdict.job_id for verdict in decision.verdicts}
    spoken |= {*decision.cancel, *decision.redundant, *decision.takes}
    if not spoken:
        return {}
    rows = (await connection.execute(_STATUSES, {"b_jobs": sorted(spoken)})).all()
    return {job_id: counts_as(status, folded=folded) for job_id, status, folded in rows}


async def _as_it_is(connection: AsyncConnection, decision: Decision) -> Recorded:
    """What a stale decision is told."""
    row = await head(connection, decision.pipeline_id)
    return Recorded(
        status=Status(row.status),
        statuses=await _named(connection, decision),
        attempts=tuple((await attempts_of(connection, decision.attempts)).values()),
        answers=await kept_answers(connection, decision.pipeline_id, [answer.key for answer in decision.answers]),
        slots=await resource_groups.holds(connection, decision.takes) if decision.takes else (),
        stale=True,
    )
