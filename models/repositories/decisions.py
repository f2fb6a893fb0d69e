"""Decisions of pipeline workflows: loading what they decide on, and recording what they decided.

Lock order: jobs by id, stages, pipeline. The guard on (`run`, `tick`) is checked before the first write and again by
the last one, so that a zombie attempt of an activity, or an old run after a reset, changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from sqlalchemy import and_, bindparam, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.messages import Answer, Decision, Loaded, Recorded
from domain.pipeline import Job as JobSnapshot
from domain.pipeline import Pipeline as Snapshot
from domain.status import COMPLETE, OPEN, Status, composite, settled
from domain.verdict import Verdict
from models.columns import Record, table_of
from models.pipelines import OperationKey, Pipeline, Stage
from models.repositories import outbox
from models.repositories.attempts import add_attempts, attempts_of
from models.repositories.cancellation import cancel_jobs
from models.repositories.job_rows import job, latest_jobs, set_status, snapshot, verdict_of
from models.repositories.verdicts import end_jobs

pipeline = table_of(Pipeline)
stage = table_of(Stage)
operation_key = table_of(OperationKey)


class Stale(Exception):
    """The decision is not newer than the last one recorded."""


async def load(connection: AsyncConnection, pipeline_id: int) -> Loaded:
    """A pipeline with its jobs, the verdicts nobody folded, and the commands it has answered.

    Raises `NotFound`.
    """
    head = await _head(connection, pipeline_id)
    stages = (
        await connection.execute(
            select(stage.c.name).where(stage.c.pipeline_id == pipeline_id).order_by(stage.c.position)
        )
    ).scalars()
    rows = await latest_jobs(connection, pipeline_id)
    return Loaded(
        pipeline=Snapshot(pipeline_id, tuple(stages), tuple(snapshot(row) for row in rows), Status(head.status)),
        verdicts=tuple(verdict_of(row) for row in rows if not row.folded),
        answers=await _answers(connection, pipeline_id),
    )


async def record_or_read(database: Any, decision: Decision, now: datetime) -> Recorded:
    """Record a decision in one transaction; a stale one changes nothing and gets the rows as they are."""
    try:
        async with database.write() as connection:
            return await record(connection, decision, now)
    except Stale:
        async with database.read() as connection:
            return await _as_it_is(connection, decision)


async def record(connection: AsyncConnection, decision: Decision, now: datetime) -> Recorded:
    """Write a decision. Raises `Stale` (the transaction must then be rolled back)."""
    head = await _head(connection, decision.pipeline_id)
    if (head.run, head.tick) >= (decision.run, decision.tick):
        raise Stale
    await _fold(connection, decision.verdicts, now)
    for to, group in groupby(decision.transitions, key=lambda transition: transition.to):
        await _move(connection, to, list(group), now)
    await add_attempts(connection, decision.attempts, now)
    made = await attempts_of(connection, decision.attempts)
    answers = tuple(replace(answer, jobs=_rows_of(answer.jobs, made)) for answer in decision.answers)
    for answer in answers:
        await _keep_answer(connection, decision.pipeline_id, answer, now)
    if decision.cancel:
        await cancel_jobs(connection, decision.pipeline_id, _rows_of(decision.cancel, made), now)
        made = await attempts_of(connection, decision.attempts)
    rows, status = await _refold(connection, decision, Status(head.status), now)
    return Recorded(status=status, statuses=_named(decision, rows), attempts=tuple(made.values()), answers=answers)


_HEAD: Final = select(pipeline.c.status, pipeline.c.run, pipeline.c.tick).where(
    pipeline.c.id == bindparam("b_pipeline")
)
_STAGES: Final = (
    select(stage.c.id, stage.c.position, stage.c.status)
    .where(stage.c.pipeline_id == bindparam("b_pipeline"))
    .order_by(stage.c.id)
    .with_for_update()
)
_SET_STAGE: Final = update(stage).where(stage.c.id == bindparam("b_stage")).values(status=bindparam("b_status"))
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


async def _head(connection: AsyncConnection, pipeline_id: int) -> Record:
    row = (await connection.execute(_HEAD, {"b_pipeline": pipeline_id})).first()
    if row is None:
        raise NotFound(f"Pipeline {pipeline_id} does not exist.")
    return row


async def _fold(connection: AsyncConnection, verdicts: tuple[Verdict, ...], now: datetime) -> None:
    """Mark verdicts as folded. One that SQL does not know was given by hand in Temporal: it becomes the row's."""
    if not verdicts:
        return
    ids = sorted(verdict.job_id for verdict in verdicts)
    rows = await connection.execute(select(job.c.id).where(job.c.id.in_(ids), job.c.status.in_(OPEN)))
    still_open = set(rows.scalars())
    for verdict in verdicts:
        if verdict.job_id in still_open:
            await end_jobs(connection, [verdict.job_id], verdict.status, now, reason=verdict.reason, tell=False)
    await connection.execute(update(job).where(job.c.id.in_(ids)).values(folded=True))
    await outbox.retire(connection, ids)


async def _move(connection: AsyncConnection, to: Status, group: Sequence[Any], now: datetime) -> None:
    if to is not Status.SCHEDULED:
        await set_status(connection, [transition.job_id for transition in group], to, now)
        return
    for transition in group:
        await set_status(connection, [transition.job_id], to, now, due_at=transition.due_at)


async def _keep_answer(connection: AsyncConnection, pipeline_id: int, answer: Answer, now: datetime) -> None:
    if answer.variables and answer.jobs:
        variables = [{"key": key, "value": value} for key, value in answer.variables.items()]
        await connection.execute(update(job).where(job.c.id.in_(answer.jobs)).values(variables=variables))
    if answer.key:
        document = {"name": answer.name, "job_id": answer.job_id, "refused": answer.refused, "jobs": answer.jobs}
        await connection.execute(
            insert(operation_key).values(pipeline_id=pipeline_id, key=answer.key, answer=document, created_at=now)
        )


async def _answers(
    connection: AsyncConnection, pipeline_id: int, keys: Iterable[str] | None = None
) -> tuple[Answer, ...]:
    statement = (
        select(operation_key.c.key, operation_key.c.answer)
        .where(operation_key.c.pipeline_id == pipeline_id)
        .order_by(operation_key.c.created_at.desc())
        .limit(200)
    )
    if keys is not None:
        statement = statement.where(operation_key.c.key.in_(list(keys)))
    rows = (await connection.execute(statement)).all()
    return tuple(Answer(key=row.key, **{**row.answer, "jobs": tuple(row.answer["jobs"])}) for row in rows)


def _rows_of(ids: Iterable[int], made: Mapping[int, JobSnapshot]) -> tuple[int, ...]:
    """Job ids with those of new rows in the place of negative ones (`domain.pipeline.Job`)."""
    return tuple(job_id if job_id > 0 else made[-job_id].id for job_id in ids)


async def _refold(
    connection: AsyncConnection, decision: Decision, before: Status, now: datetime
) -> tuple[Sequence[Record], Status]:
    """Fold the rows into stage and pipeline statuses, holding the stages so that no claim slips in between."""
    stages = (await connection.execute(_STAGES, {"b_pipeline": decision.pipeline_id})).all()
    rows = await latest_jobs(connection, decision.pipeline_id)
    folded = [(row.stage_position, _counts_as(row), row.allow_failure) for row in rows]
    for row in stages:
        result = composite((status, allowed) for position, status, allowed in folded if position == row.position)
        if result not in {Status.CREATED, row.status}:
            await connection.execute(_SET_STAGE, {"b_stage": row.id, "b_status": str(result)})
    status = settled(before, composite((status, allowed) for _, status, allowed in folded))
    number = {"b_pipeline": decision.pipeline_id, "b_run": decision.run, "b_tick": decision.tick}
    ended = now if status in COMPLETE else None
    written = await connection.execute(
        _SET_PIPELINE, {**number, "b_status": str(status), "b_now": now, "b_finished": ended}
    )
    if written.rowcount == 0:
        raise Stale
    return rows, status


def _counts_as(row: Record) -> Status:
    """A verdict that is not folded counts as running, so that an automatic retry hides its failure."""
    return Status(row.status) if row.folded else Status.RUNNING


def _named(decision: Decision, rows: Sequence[Record]) -> dict[int, Status]:
    """The rows that the decision spoke of, as they really are."""
    spoken = {t.job_id for t in decision.transitions} | {v.job_id for v in decision.verdicts} | set(decision.cancel)
    return {row.id: _counts_as(row) for row in rows if row.id in spoken}


async def _as_it_is(connection: AsyncConnection, decision: Decision) -> Recorded:
    head = await _head(connection, decision.pipeline_id)
    rows = await latest_jobs(connection, decision.pipeline_id)
    return Recorded(
        status=Status(head.status),
        statuses=_named(decision, rows),
        attempts=tuple((await attempts_of(connection, decision.attempts)).values()),
        answers=await _answers(connection, decision.pipeline_id, [answer.key for answer in decision.answers]),
    )
