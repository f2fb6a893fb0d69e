"""Pipelines as their workflows load them: page by page, so that each page is small enough for Temporal."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
from sqlalchemy import bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.messages import Answer, Leaving, Load, Loaded, Page, joined
from domain.pipelines.packing import Packed, pack
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.status import OPEN, Status
from domain.pipelines.verdict import Verdict
from models.columns import table_of
from models.repositories.hooks import webhook_events
from models.repositories.pipelines.job_rows import SNAPSHOT, SnapshotRow, VerdictRow, job, snapshot, verdict_of
from models.tables.outbox import OperationKey
from models.tables.pipelines import Pipeline as PipelineTable
from models.tables.pipelines import Stage
from models.typed_rows import all_of, first_of

pipeline = table_of(PipelineTable)
stage = table_of(Stage)
operation_key = table_of(OperationKey)

PAGE_ROWS: Final = 500
PAGE_BYTES: Final = 100_000
"""A page ends with the job that makes it larger than this."""

ANSWERS: Final = 100
"""So many of the newest answers a run knows without asking SQL; an older key is found when it is used again."""

_HEAD: Final = select(
    pipeline.c.id,
    pipeline.c.project_id,
    pipeline.c.status,
    pipeline.c.run,
    pipeline.c.tick,
    pipeline.c.auto_cancel,
    pipeline.c.updated_at,
    pipeline.c.finished_at,
    webhook_events.OF_PIPELINE,
).where(pipeline.c.id == bindparam("b_pipeline"))
_STAGES: Final = (
    select(stage.c.name, stage.c.status)
    .where(stage.c.pipeline_id == bindparam("b_pipeline"))
    .order_by(stage.c.position)
)
_ROWS: Final = (
    select(*SNAPSHOT, job.c.position)
    .where(job.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried, job.c.position > bindparam("b_after"))
    .order_by(job.c.position)
    .limit(PAGE_ROWS)
)
_ALL_ROWS: Final = (
    select(*SNAPSHOT).where(job.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried).order_by(job.c.position)
)
_EARLIER: Final = (
    select(*SNAPSHOT)
    .where(job.c.pipeline_id == bindparam("b_pipeline"), job.c.retried)
    .where(or_(~job.c.folded, job.c.status.in_(sorted(OPEN))))
    .order_by(job.c.id)
    .limit(PAGE_ROWS)
)
_ANSWERS: Final = (
    select(operation_key.c.key, operation_key.c.answer)
    .where(operation_key.c.pipeline_id == bindparam("b_pipeline"))
    .order_by(operation_key.c.created_at.desc())
    .limit(ANSWERS)
)
_ANSWERS_TO: Final = _ANSWERS.where(operation_key.c.key.in_(bindparam("b_keys", expanding=True)))


@dataclass(frozen=True, slots=True)
class Head:
    """Status, end and number of the last decision of a pipeline; `watched` is what of its project is watched."""

    id: int
    project_id: int
    status: str
    run: int
    tick: int
    auto_cancel: Mapping[str, str]
    updated_at: datetime
    finished_at: datetime | None
    watched: int


@dataclass(frozen=True, slots=True)
class _NamedStage:
    """A stage by its name."""

    name: str
    status: str


@dataclass(frozen=True, slots=True)
class _PlacedRow(SnapshotRow):
    """A job and its place in its pipeline."""

    position: int


async def head(connection: AsyncConnection, pipeline_id: int) -> Head:
    """A pipeline without its jobs. Raises `NotFound`."""
    row = first_of(Head, await connection.execute(_HEAD, {"b_pipeline": pipeline_id}))
    if row is None:
        raise NotFound(f"Pipeline {pipeline_id} does not exist.")
    return row


async def page(connection: AsyncConnection, order: Load) -> Page:
    """One page of a pipeline. Raises `NotFound`."""
    top = await head(connection, order.pipeline_id)
    is_first = order.after < 0
    stages = await _stages(connection, order.pipeline_id) if is_first else ()
    found = await connection.execute(_ROWS, {"b_pipeline": order.pipeline_id, "b_after": order.after})
    rows, packed, following = _cut(all_of(_PlacedRow, found))
    earlier = await _earlier(connection, order.pipeline_id) if is_first else ()
    return Page(
        pipeline_id=order.pipeline_id,
        run=top.run,
        tick=top.tick,
        status=Status(top.status),
        stages=tuple(row.name for row in stages),
        on_new_commit=top.auto_cancel.get("on_new_commit", "conservative"),
        on_job_failure=top.auto_cancel.get("on_job_failure", "none"),
        jobs=packed,
        verdicts=_unfolded([*earlier, *rows]),
        leaving=tuple(Leaving(row.id, row.room) for row in earlier if row.status in OPEN),
        answers=await answers(connection, order.pipeline_id) if is_first else (),
        following=following,
        shown=tuple(Status(row.status) for row in stages) if is_first else None,
        has_window=True,
        rereads=True,
        due_revives_nothing=True,
    )


async def _stages(connection: AsyncConnection, pipeline_id: int) -> Sequence[_NamedStage]:
    return all_of(_NamedStage, await connection.execute(_STAGES, {"b_pipeline": pipeline_id}))


async def _earlier(connection: AsyncConnection, pipeline_id: int) -> Sequence[SnapshotRow]:
    """Attempts that were followed by others and of which something is still to come."""
    return all_of(SnapshotRow, await connection.execute(_EARLIER, {"b_pipeline": pipeline_id}))


def _cut(rows: Sequence[_PlacedRow]) -> tuple[Sequence[_PlacedRow], tuple[Packed, ...], int | None]:
    """As many rows as a page holds, at least one; and the position to go on after."""
    packed: list[Packed] = []
    size = 0
    for row in rows:
        packed.append(pack(snapshot(row)))
        size += len(orjson.dumps(packed[-1]))
        if size > PAGE_BYTES:
            break
    taken = rows[: len(packed)]
    is_last = len(taken) == len(rows) < PAGE_ROWS
    return taken, tuple(packed), None if is_last else taken[-1].position


def _unfolded(rows: Iterable[VerdictRow]) -> tuple[Verdict, ...]:
    return tuple(verdict_of(row) for row in rows if not row.folded)


async def load(connection: AsyncConnection, pipeline_id: int) -> Loaded:
    """A whole pipeline: jobs, verdicts nobody folded, commands it has answered. Raises `NotFound`."""
    pages = [await page(connection, Load(pipeline_id))]
    while (following := pages[-1].following) is not None:
        pages.append(await page(connection, Load(pipeline_id, following)))
    return joined(pages)


async def shown(connection: AsyncConnection, pipeline_id: int) -> Pipeline:
    """The pipeline that `load` gives, for whoever only looks: in three statements. Raises `NotFound`."""
    top = await head(connection, pipeline_id)
    stages = await _stages(connection, pipeline_id)
    rows = all_of(SnapshotRow, await connection.execute(_ALL_ROWS, {"b_pipeline": pipeline_id}))
    return Pipeline(
        top.id,
        tuple(row.name for row in stages),
        tuple(map(snapshot, rows)),
        Status(top.status),
        top.auto_cancel.get("on_new_commit", "conservative"),
        top.auto_cancel.get("on_job_failure", "none"),
    )


async def answers(
    connection: AsyncConnection, pipeline_id: int, keys: Iterable[str] | None = None
) -> tuple[Answer, ...]:
    """The newest answers of a pipeline, or those to these keys."""
    values: dict[str, Any] = {"b_pipeline": pipeline_id}
    statement = _ANSWERS
    if keys is not None:
        statement, values = _ANSWERS_TO, values | {"b_keys": list(keys)}
    rows = await connection.execute(statement, values)
    return tuple(Answer(key=key, **{**answer, "jobs": tuple(answer["jobs"])}) for key, answer in rows)
