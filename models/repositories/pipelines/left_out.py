"""What the runners of jobs do not do of what these ask for (`domain.runners.left_out`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.info import LEGACY_SYSTEM_ID
from domain.runners.left_out import Asked, left_out
from models.columns import table_of
from models.tables.pipelines import Job
from models.tables.runners import Runner, RunnerManager
from models.typed_rows import all_of

job = table_of(Job)
runner = table_of(Runner)
manager = table_of(RunnerManager)

_KEYWORDS: Final = ("image", "services", "cache")
_ASKED: Final = tuple(job.c.plan[name].label(name) for name in _KEYWORDS)
_ASKS: Final = or_(*(job.c.plan[name].as_string().is_not(None) for name in _KEYWORDS))
_PROCESS: Final = and_(
    manager.c.runner_id == job.c.runner_id,
    manager.c.system_id == func.coalesce(func.nullif(job.c.system_id, ""), LEGACY_SYSTEM_ID),
)
"""The process that has or had a job; none is left of one that was silent for long."""


@dataclass(frozen=True, slots=True)
class _AskingJob:
    """What a job asks for, and the process that has or had it."""

    id: int
    manager_id: int
    image: Any
    services: Any
    cache: Any


@dataclass(frozen=True, slots=True)
class _Process:
    """A process of a runner: what it says of itself, and the runner."""

    id: int
    info: Mapping[str, Any]
    runner_id: int
    description: str


async def of_job(connection: AsyncConnection, job_id: int) -> Sequence[str]:
    """What is left out of one attempt of a job, in sentences; nothing while no runner has it."""
    return (await _of(connection, job.c.id == job_id)).get(job_id, ())


async def of_pipeline(connection: AsyncConnection, pipeline_id: int) -> Mapping[int, Sequence[str]]:
    """The same of the latest attempts of all jobs of a pipeline, by id, for those of which something is left out."""
    return await _of(connection, and_(job.c.pipeline_id == pipeline_id, ~job.c.retried))


async def _of(connection: AsyncConnection, wanted: ColumnElement[bool]) -> dict[int, Sequence[str]]:
    """Read apart from what processes say of themselves: there are few of these, and they say much."""
    statement = select(job.c.id, manager.c.id.label("manager_id"), *_ASKED).join(manager, _PROCESS)
    rows = all_of(_AskingJob, await connection.execute(statement.where(wanted, _ASKS)))
    processes = await _processes(connection, {row.manager_id for row in rows})
    found = {
        row.id: left_out(Asked(row.image, row.services, row.cache), *processes[row.manager_id])
        for row in rows
        if row.manager_id in processes
    }
    return {job_id: sentences for job_id, sentences in found.items() if sentences}


async def _processes(connection: AsyncConnection, ids: set[int]) -> dict[int, tuple[str, Mapping[str, Any]]]:
    """The name of its runner and what it says of itself, by the id of the process."""
    if not ids:
        return {}
    columns = (manager.c.id, manager.c.info, manager.c.runner_id, runner.c.description)
    statement = select(*columns).join(runner, runner.c.id == manager.c.runner_id).where(manager.c.id.in_(ids))
    rows = all_of(_Process, await connection.execute(statement))
    return {row.id: (f"Runner #{row.runner_id} {row.description}".rstrip(), row.info) for row in rows}
