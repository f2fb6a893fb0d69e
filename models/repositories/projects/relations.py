"""What rows point to, read for a whole list at once: people, runners, pipelines, artifacts, groups."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.info import LEGACY_SYSTEM_ID
from models.columns import table_of
from models.repositories.artifacts import artifacts
from models.repositories.runners import runner_listings
from models.rows.accounts import UserRow
from models.rows.artifacts import ArtifactRow
from models.rows.merge_requests import MergeRequestRow
from models.rows.namespaces import NamespaceRow
from models.rows.pipelines import JobFacts, PipelineRow
from models.rows.projects import ProjectRow
from models.rows.runners import RunnerManagerRow, RunnerRow
from models.tables.accounts import User
from models.tables.merge_requests import MergeRequest
from models.tables.namespaces import Namespace
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.tables.runners import Runner
from models.typed_rows import Typed, reader

user = table_of(User)
runner = table_of(Runner)
pipeline = table_of(Pipeline)
merge_request = table_of(MergeRequest)
namespace = table_of(Namespace)
project = table_of(Project)


@dataclass(frozen=True, slots=True)
class Relations:
    """The rows behind a list of jobs, by id; artifacts by job id.

    A process of a runner (`managers`) is known by the runner's id and its system id; `busy` are those that hold a job.
    """

    users: Mapping[int, UserRow]
    runners: Mapping[int, RunnerRow]
    managers: Mapping[tuple[int, str], RunnerManagerRow]
    busy: frozenset[tuple[int, str]]
    pipelines: Mapping[int, PipelineRow]
    artifacts: Mapping[int, Sequence[ArtifactRow]]

    @property
    def busy_runners(self) -> frozenset[int]:
        """The runners that hold a job."""
        return frozenset(runner_id for runner_id, _ in self.busy)


async def of_jobs(connection: AsyncConnection, rows: Sequence[JobFacts]) -> Relations:
    """Everything that these jobs point to."""
    by_job: defaultdict[int, list[ArtifactRow]] = defaultdict(list)
    for row in await artifacts.of_jobs(connection, [row.id for row in rows]):
        by_job[row.job_id].append(row)
    held_by = await runners(connection, (row.runner_id for row in rows))
    return Relations(
        users=await users(connection, (row.user_id for row in rows)),
        runners=held_by,
        managers=await runner_listings.managers(connection, {process_of(row) for row in rows if row.runner_id}),
        busy=await runner_listings.busy_processes(connection, held_by),
        pipelines=await _by_id(connection, pipeline, PipelineRow, (row.pipeline_id for row in rows)),
        artifacts=by_job,
    )


def process_of(row: JobFacts) -> tuple[int, str]:
    """The process that has or had a job; a runner of old does not name it. Runner 0, which is none, for no runner."""
    return row.runner_id or 0, row.system_id or LEGACY_SYSTEM_ID


async def users(connection: AsyncConnection, ids: Iterable[int | None]) -> Mapping[int, UserRow]:
    """People by id."""
    return await _by_id(connection, user, UserRow, ids)


async def runners(connection: AsyncConnection, ids: Iterable[int | None]) -> Mapping[int, RunnerRow]:
    """Runners by id."""
    return await _by_id(connection, runner, RunnerRow, ids)


async def projects(connection: AsyncConnection, ids: Iterable[int | None]) -> Mapping[int, ProjectRow]:
    """Projects by id."""
    return await _by_id(connection, project, ProjectRow, ids)


async def merge_requests(connection: AsyncConnection, ids: Iterable[int | None]) -> Mapping[int, MergeRequestRow]:
    """Merge requests by id."""
    return await _by_id(connection, merge_request, MergeRequestRow, ids)


async def namespaces(connection: AsyncConnection, ids: Iterable[int | None]) -> Mapping[int, NamespaceRow]:
    """Groups by id."""
    return await _by_id(connection, namespace, NamespaceRow, ids)


async def _by_id(
    connection: AsyncConnection, table: Table, kind: type[Typed], ids: Iterable[int | None]
) -> dict[int, Typed]:
    wanted = {key for key in ids if key is not None}
    if not wanted:
        return {}
    result = await connection.execute(select(table).where(table.c.id.in_(wanted)))
    read = reader(kind, result)
    return {row.id: read(row) for row in result}
