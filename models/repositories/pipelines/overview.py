"""A pipeline as its pages show it, in a number of statements that does not depend on how many jobs it has."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines.jobs import LISTED
from models.repositories.pipelines.warnings import STAGE
from models.rows.pipelines import JobFacts, ListedJobRow, StageRow
from models.tables.pipelines import Job, Pipeline, Stage
from models.typed_rows import all_of

job = table_of(Job)
stage = table_of(Stage)

pipeline = table_of(Pipeline)

_MOMENTS = (
    "queued_at",
    "started_at",
    "script_at",
    "finished_at",
    "canceling_at",
    "erased_at",
    "downstream_ended_at",
    "due_at",
)
_LARGE = frozenset({"plan", "why", "variables", "retry", "exit_codes_allowed"})


@dataclass(frozen=True, slots=True)
class DrawnJobRow(JobFacts):
    """A job as pictures show it: with the names of the jobs that it needs, None if it waits for its stages."""

    needs: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class Tally:
    """So many of the latest attempts are in one state."""

    status: str
    allow_failure: bool
    number: int


@dataclass(frozen=True, slots=True)
class NamedJob:
    """A job by its name."""

    id: int
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs of a pipeline; empty fields do not narrow. `name` is a part of the name, in any case of letters."""

    statuses: Collection[Status] = ()
    stage: str = ""
    name: str = ""


async def drawn(connection: AsyncConnection, pipeline_id: int, *, retried: bool = False) -> Sequence[DrawnJobRow]:
    """The jobs of a pipeline in the order of the configuration; with `retried` each attempt, else only the latest."""
    columns = [column for column in job.c if column.name not in _LARGE]
    statement = select(*columns).where(job.c.pipeline_id == pipeline_id)
    if not retried:
        statement = statement.where(~job.c.retried)
    ordered = statement.order_by(job.c.stage_position, job.c.position, job.c.attempt)
    return all_of(DrawnJobRow, await connection.execute(ordered))


def listed(pipeline_id: int, wanted: JobFilter) -> Listing[ListedJobRow]:
    """Statement for the latest attempts of a pipeline's jobs, in the order of the configuration."""
    statement = select(*LISTED).where(job.c.pipeline_id == pipeline_id, ~job.c.retried)
    if wanted.statuses:
        statement = statement.where(job.c.status.in_(sorted(wanted.statuses)))
    if wanted.stage:
        statement = statement.where(job.c.stage_name == wanted.stage)
    if wanted.name:
        statement = statement.where(func.lower(job.c.name).contains(wanted.name.lower(), autoescape=True))
    return Listing(statement.order_by(job.c.stage_position, job.c.position), ListedJobRow)


async def tallies(connection: AsyncConnection, pipeline_id: int) -> Sequence[Tally]:
    """How many of the latest attempts are in which state."""
    statement = (
        select(job.c.status, job.c.allow_failure, func.count().label("number"))
        .where(job.c.pipeline_id == pipeline_id, ~job.c.retried)
        .group_by(job.c.status, job.c.allow_failure)
    )
    return all_of(Tally, await connection.execute(statement))


async def named(
    connection: AsyncConnection, pipeline_id: int, statuses: Iterable[Status], limit: int
) -> Sequence[NamedJob]:
    """The first of the latest attempts that are in one of these states."""
    statement = (
        select(job.c.id, job.c.name, job.c.status)
        .where(job.c.pipeline_id == pipeline_id, ~job.c.retried, job.c.status.in_(sorted(statuses)))
        .order_by(job.c.stage_position, job.c.position)
        .limit(limit)
    )
    return all_of(NamedJob, await connection.execute(statement))


async def mark(connection: AsyncConnection, pipeline_id: int) -> tuple[Any, ...]:
    """Something that is another thing as soon as a job or the pipeline has moved: cheaper than to read all of it."""
    latest = [func.max(job.c[name]) for name in ("id", *_MOMENTS)]
    of_jobs = select(job.c.status, job.c.retried, func.count(), *latest).where(job.c.pipeline_id == pipeline_id)
    grouped = await connection.execute(of_jobs.group_by(job.c.status, job.c.retried).order_by(job.c.status))
    own = select(pipeline.c.status, pipeline.c.updated_at, pipeline.c.status_reason, pipeline.c.finished_at)
    row = (await connection.execute(own.where(pipeline.c.id == pipeline_id))).first()
    return (*(tuple(one) for one in grouped), None if row is None else tuple(row))


async def stages_of(connection: AsyncConnection, pipeline_ids: Iterable[int]) -> Mapping[int, Sequence[StageRow]]:
    """The stages of several pipelines, in order."""
    wanted = list(pipeline_ids)
    statement = select(*STAGE).where(stage.c.pipeline_id.in_(wanted)).order_by(stage.c.pipeline_id, stage.c.position)
    found: dict[int, list[StageRow]] = {key: [] for key in wanted}
    for row in all_of(StageRow, await connection.execute(statement)):
        found[row.pipeline_id].append(row)
    return found
