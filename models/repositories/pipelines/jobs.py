"""Jobs as people read them: without scripts and variables, which only the hand-out needs."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.pipelines.status import Status
from models.columns import Record, table_of
from models.tables.pipelines import Job, Pipeline

job = table_of(Job)
pipeline = table_of(Pipeline)

_LARGE: Final = frozenset({"plan", "why", "variables", "retry", "needs", "exit_codes_allowed"})
LISTED: Final = (
    *(column for column in job.c if column.name not in _LARGE),
    job.c.plan["manual_confirmation"].as_string().label("manual_confirmation"),
)


async def get(connection: AsyncConnection, job_id: int, project_id: int) -> Record:
    """One attempt of a job of a project. Raises `NotFound`, also when it is another project's."""
    statement = select(*LISTED).where(job.c.id == job_id, job.c.project_id == project_id)
    row = (await connection.execute(statement)).first()
    if row is None:
        raise NotFound("404 Job Not Found")
    return row


async def by_ids(connection: AsyncConnection, ids: Iterable[int]) -> dict[int, Record]:
    """Attempts of jobs by id."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    return {row.id: row for row in (await connection.execute(select(*LISTED).where(job.c.id.in_(wanted)))).all()}


def of_pipeline(
    pipeline_id: int, *, statuses: Collection[str] = (), retried: bool = False, bridges: bool | None = None
) -> Select[Any]:
    """Statement for the jobs of a pipeline, newest first; earlier attempts only with `retried`.

    `bridges` picks only those that trigger pipelines, or only the others.
    """
    statement = _only(select(*LISTED).where(job.c.pipeline_id == pipeline_id), statuses)
    if bridges is not None:
        statement = statement.where(job.c.bridge if bridges else ~job.c.bridge)
    return statement if retried else statement.where(~job.c.retried)


def of_project(project_id: int, *, statuses: Collection[str] = ()) -> Select[Any]:
    """Statement for all attempts of all jobs of a project but its bridges, newest first."""
    return _only(select(*LISTED).where(job.c.project_id == project_id, ~job.c.bridge), statuses)


def _only(statement: Select[Any], statuses: Collection[str]) -> Select[Any]:
    ordered = statement.order_by(job.c.id.desc())
    return ordered.where(job.c.status.in_(statuses)) if statuses else ordered


async def in_order(connection: AsyncConnection, pipeline_id: int) -> Sequence[Record]:
    """Every attempt of every job of a pipeline: stage by stage, in the order of the configuration, attempts rising."""
    statement = (
        select(*LISTED)
        .where(job.c.pipeline_id == pipeline_id)
        .order_by(job.c.stage_position, job.c.position, job.c.attempt)
    )
    return (await connection.execute(statement)).all()


async def attempts_of(connection: AsyncConnection, first_id: int) -> Sequence[Record]:
    """All attempts of one job, the first one first."""
    statement = select(*LISTED).where(job.c.first_id == first_id).order_by(job.c.attempt)
    return (await connection.execute(statement)).all()


async def warned(connection: AsyncConnection, pipeline_ids: Iterable[int]) -> set[int]:
    """Those of the pipelines in which a job failed that was allowed to."""
    statement = select(job.c.pipeline_id).where(
        job.c.pipeline_id.in_(list(pipeline_ids)), ~job.c.retried, job.c.allow_failure, job.c.status == Status.FAILED
    )
    return set((await connection.execute(statement.distinct())).scalars())
