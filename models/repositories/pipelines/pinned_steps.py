"""Attempts of jobs that begin at a step: which one, and what the steps before it gave.

What an attempt begins with is copied from the results of the attempt that is retried (an artifact) before the workflow
decides, and given to the new attempt in the transaction that makes it. It never crosses Temporal, and stays whatever
becomes of the artifact (docs/decisions/0043-where-pinned-outputs-are-kept.md).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import bindparam, delete, exists, insert, null, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.messages import Answer
from domain.pipelines.status import COMPLETE
from domain.steps.beginning import ERASED, GONE, NEVER, NOT_ENDED, Beginning, Missing
from models.columns import table_of
from models.repositories.artifacts import artifacts
from models.repositories.pipelines.job_rows import job
from models.rows.artifacts import ArtifactRow
from models.tables.outbox import OperationKey
from models.tables.pinned_steps import PinnedSteps
from models.typed_rows import first_of

pinned = table_of(PinnedSteps)
operation_key = table_of(OperationKey)

_PUT: Final = {
    "postgresql": postgresql.insert(pinned).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(pinned).on_conflict_do_nothing(),
}
_KEYED: Final = (pinned.c.pipeline_id == bindparam("b_pipeline"), pinned.c.key == bindparam("b_key"))
_GIVE: Final = update(pinned).where(*_KEYED).values(job_id=bindparam("b_job"), key=null())
_DROP: Final = delete(pinned).where(*_KEYED)
_IS_ANSWERED: Final = select(
    exists().where(operation_key.c.pipeline_id == bindparam("b_pipeline"), operation_key.c.key == bindparam("b_key"))
)
_OF_JOB: Final = select(pinned.c.step, pinned.c.done).where(pinned.c.job_id == bindparam("b_job"))
_RETRIED: Final = select(job.c.status, job.c.plan["run"].label("run"), job.c.erased_at.is_not(None).label("erased"))


@dataclass(frozen=True, slots=True)
class Retried:
    """An attempt that is to be retried: its steps, and where their results lie, or why there are none."""

    run: Sequence[Mapping[str, Any]]
    missing: Missing | None
    object_key: str = ""
    size: int = 0
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class _AttemptRow:
    """An attempt, by what a later one has to know."""

    status: str
    run: Sequence[Mapping[str, Any]] | None
    erased: bool


@dataclass(frozen=True, slots=True)
class _PinnedRow:
    """What an attempt begins with."""

    step: str
    done: str


async def retried(connection: AsyncConnection, pipeline_id: int, job_id: int) -> Retried:
    """What there is of an attempt of a pipeline. Raises `NotFound`."""
    found = await connection.execute(_RETRIED.where(job.c.id == job_id, job.c.pipeline_id == pipeline_id))
    row = first_of(_AttemptRow, found)
    if row is None:
        raise NotFound(f"Pipeline {pipeline_id} has no job {job_id}.")
    file = await artifacts.find(connection, job_id, artifacts.STEPS)
    is_there = file is not None and await artifacts.available(connection, job_id, artifacts.STEPS) is not None
    missing = _missing(row, file, is_there=is_there)
    if missing is not None or file is None:
        return Retried(row.run or (), missing)
    return Retried(row.run or (), None, file.object_key, file.size, file.sha256)


def _missing(row: _AttemptRow, file: ArtifactRow | None, *, is_there: bool) -> Missing | None:
    if row.status not in COMPLETE:
        return NOT_ENDED
    if row.erased:
        return ERASED
    if file is None:
        return NEVER
    return None if is_there else GONE


async def put(connection: AsyncConnection, pipeline_id: int, key: str, beginning: Beginning) -> None:
    """Keep what a command needs until it is answered; a repetition changes nothing, nor does one that is too late."""
    known = {"b_pipeline": pipeline_id, "b_key": key}
    if (await connection.execute(_IS_ANSWERED, known)).scalar_one():
        return
    done = json.dumps(beginning.done, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    row = {"pipeline_id": pipeline_id, "key": key, "step": beginning.step, "done": done}
    await connection.execute(_PUT[connection.dialect.name], row)


async def give(connection: AsyncConnection, pipeline_id: int, answer: Answer) -> None:
    """Give what a command has needed to the attempt that it made; forget it if it was refused."""
    known = {"b_pipeline": pipeline_id, "b_key": answer.key}
    if answer.jobs:
        await connection.execute(_GIVE, {**known, "b_job": answer.jobs[-1]})
    else:
        await connection.execute(_DROP, known)


async def repeat(connection: AsyncConnection, job_id: int) -> None:
    """The attempt that follows this one begins as it did."""
    following = job.alias()
    begun = (
        select(pinned.c.pipeline_id, following.c.id, pinned.c.step, pinned.c.done)
        .join(job, job.c.id == pinned.c.job_id)
        .join(following, (following.c.first_id == job.c.first_id) & (following.c.attempt == job.c.attempt + 1))
        .where(pinned.c.job_id == job_id)
    )
    await connection.execute(insert(pinned).from_select(["pipeline_id", "job_id", "step", "done"], begun))


async def of_job(connection: AsyncConnection, job_id: int) -> Mapping[str, Any] | None:
    """What a runner is told of where an attempt begins; None for one that begins with its first step."""
    row = first_of(_PinnedRow, await connection.execute(_OF_JOB, {"b_job": job_id}))
    return None if row is None else {"from": row.step, "done": json.loads(row.done)}


async def forget(connection: AsyncConnection, job_id: int) -> None:
    """Forget what an attempt has begun with."""
    await connection.execute(delete(pinned).where(pinned.c.job_id == job_id))
