"""Jobs as people read them: without scripts and variables, which only the hand-out needs."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.config.plan import RetryPolicy
from domain.errors import NotFound
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines.job_rows import policy_of
from models.rows.pipelines import ListedJobRow
from models.tables.pipelines import Job, Pipeline
from models.typed_rows import all_of, first_of

job = table_of(Job)
pipeline = table_of(Pipeline)

_LARGE: Final = frozenset({"plan", "why", "variables", "inputs", "retry", "needs", "exit_codes_allowed"})
LISTED: Final = (
    *(column for column in job.c if column.name not in _LARGE),
    job.c.plan["manual_confirmation"].as_string().label("manual_confirmation"),
)
"""The columns of `ListedJobRow`."""


async def get(connection: AsyncConnection, job_id: int, project_id: int) -> ListedJobRow:
    """One attempt of a job of a project. Raises `NotFound`, also when it is another project's."""
    statement = select(*LISTED).where(job.c.id == job_id, job.c.project_id == project_id)
    row = first_of(ListedJobRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Job Not Found")
    return row


async def by_ids(connection: AsyncConnection, ids: Iterable[int]) -> dict[int, ListedJobRow]:
    """Attempts of jobs by id."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    found = await connection.execute(select(*LISTED).where(job.c.id.in_(wanted)))
    return {row.id: row for row in all_of(ListedJobRow, found)}


def of_pipeline(
    pipeline_id: int, *, statuses: Collection[str] = (), retried: bool = False, bridges: bool | None = None
) -> Listing[ListedJobRow]:
    """The jobs of a pipeline, newest first; earlier attempts only with `retried`.

    `bridges` picks only those that trigger pipelines, or only the others.
    """
    statement = _only(select(*LISTED).where(job.c.pipeline_id == pipeline_id), statuses)
    if bridges is not None:
        statement = statement.where(job.c.bridge if bridges else ~job.c.bridge)
    return Listing(statement if retried else statement.where(~job.c.retried), ListedJobRow)


def of_project(project_id: int, *, statuses: Collection[str] = ()) -> Listing[ListedJobRow]:
    """All attempts of all jobs of a project but its bridges, newest first."""
    statement = select(*LISTED).where(job.c.project_id == project_id, ~job.c.bridge)
    return Listing(_only(statement, statuses), ListedJobRow)


def _only(statement: Select[Any], statuses: Collection[str]) -> Select[Any]:
    ordered = statement.order_by(job.c.id.desc())
    return ordered.where(job.c.status.in_(statuses)) if statuses else ordered


async def in_order(connection: AsyncConnection, pipeline_id: int) -> Sequence[ListedJobRow]:
    """Every attempt of every job of a pipeline: stage by stage, in the order of the configuration, attempts rising."""
    statement = (
        select(*LISTED)
        .where(job.c.pipeline_id == pipeline_id)
        .order_by(job.c.stage_position, job.c.position, job.c.attempt)
    )
    return all_of(ListedJobRow, await connection.execute(statement))


async def attempts_of(connection: AsyncConnection, first_id: int | None) -> Sequence[ListedJobRow]:
    """All attempts of one job, the first one first."""
    statement = select(*LISTED).where(job.c.first_id == first_id).order_by(job.c.attempt)
    return all_of(ListedJobRow, await connection.execute(statement))


async def retry_policies(connection: AsyncConnection, job_ids: Iterable[int]) -> dict[int, RetryPolicy]:
    """How often each of these jobs is tried again by itself."""
    wanted = sorted(set(job_ids))
    if not wanted:
        return {}
    found = await connection.execute(select(job.c.id, job.c.retry).where(job.c.id.in_(wanted)))
    return {job_id: policy_of(document) for job_id, document in found}
