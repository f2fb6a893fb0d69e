"""What has happened in a pipeline, newest first: its rows say when each job moved, commands say who asked for what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, Select, String, cast, func, literal, null, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.tables.outbox import OperationKey
from models.tables.pipelines import Job, Pipeline
from models.typed_rows import all_of

job = table_of(Job)
pipeline = table_of(Pipeline)
operation_key = table_of(OperationKey)

_MOMENTS: Final = ("queued_at", "started_at", "finished_at", "canceling_at", "erased_at")
"""Columns of a job that say when it moved."""
_OF_PIPELINE: Final = ("created_at", "started_at", "finished_at")


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing: `kind` is the name of the moment (`job.queued_at`, `pipeline.created_at`), or `command`.

    `job.created_at` is told of further attempts only. A command is found by its `key`.
    """

    kind: str
    at: datetime
    job_id: int | None
    key: str | None


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command that was answered: who asked for it (None: nobody knows), and what became of it."""

    key: str
    caller_id: int | None
    answer: Mapping[str, Any]


async def page_of(
    connection: AsyncConnection, pipeline_id: int, number: int, size: int
) -> tuple[Sequence[Happening], int]:
    """Page `number` (from 1) of what has happened, and how much that is in all."""
    everything = union_all(*_parts(pipeline_id)).subquery()
    ordered = select(everything).order_by(everything.c.at.desc(), everything.c.job_id.desc(), everything.c.kind)
    rows = all_of(Happening, await connection.execute(ordered.limit(size).offset((number - 1) * size)))
    total = (await connection.execute(select(func.count()).select_from(everything))).scalar_one()
    return rows, total


def _parts(pipeline_id: int) -> list[Select[Any]]:
    none, no_key = cast(null(), BigInteger), cast(null(), String)
    of_jobs = [(name, job.c[name].is_not(None)) for name in _MOMENTS] + [("created_at", job.c.attempt > 1)]
    parts = [
        select(
            literal(f"job.{name}").label("kind"), job.c[name].label("at"), job.c.id.label("job_id"), no_key.label("key")
        ).where(job.c.pipeline_id == pipeline_id, which)
        for name, which in of_jobs
    ]
    parts += [
        select(
            literal(f"pipeline.{name}").label("kind"),
            pipeline.c[name].label("at"),
            none.label("job_id"),
            no_key.label("key"),
        ).where(pipeline.c.id == pipeline_id, pipeline.c[name].is_not(None))
        for name in _OF_PIPELINE
    ]
    parts.append(
        select(
            literal("command").label("kind"),
            operation_key.c.created_at.label("at"),
            none.label("job_id"),
            operation_key.c.key.label("key"),
        ).where(operation_key.c.pipeline_id == pipeline_id)
    )
    return parts


async def commands(connection: AsyncConnection, pipeline_id: int, keys: Sequence[str]) -> Mapping[str, CommandRow]:
    """Commands of a pipeline by their keys."""
    if not keys:
        return {}
    statement = select(operation_key.c.key, operation_key.c.caller_id, operation_key.c.answer).where(
        operation_key.c.pipeline_id == pipeline_id, operation_key.c.key.in_(list(keys))
    )
    return {row.key: row for row in all_of(CommandRow, await connection.execute(statement))}
