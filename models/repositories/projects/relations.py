"""What rows point to, read for a whole list at once: people, runners, pipelines, artifacts, groups."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.info import LEGACY_SYSTEM_ID
from domain.runners.status import Holds
from models.columns import table_of
from models.repositories.artifacts import artifacts
from models.repositories.pipelines.warnings import PIPELINE
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

    A process of a runner (`managers`) is known by the runner's id and its system id; `holding` are those with jobs.
    """

    users: Mapping[int, UserRow]
    runners: Mapping[int, RunnerRow]
    managers: Mapping[tuple[int, str], RunnerManagerRow]
    holding: Mapping[tuple[int, str], Holds]
    pipelines: Mapping[int, PipelineRow]
    artifacts: Mapping[int, Sequence[ArtifactRow]]

    def holds(self, runner_id: int) -> Holds:
        """Whether a runner holds jobs, in any of its processes."""
        found = {holds for (key, _), holds in self.holding.items() if key == runner_id}
        return next((holds for holds in (Holds.HEARD, Holds.SILENT) if holds in found), Holds.NOTHING)


async def of_jobs(connection: AsyncConnection, rows: Sequence[JobFacts], ticks: int) -> Relations:
    """Everything that these jobs point to; who has not called for a job for more than `ticks` is silent."""
    by_job: defaultdict[int, list[ArtifactRow]] = defaultdict(list)
    for row in await artifacts.of_jobs(connection, [row.id for row in rows]):
        by_job[row.job_id].append(row)
    held_by = await runners(connection, (row.runner_id for row in rows))
    return Relations(
        users=await users(connection, (row.user_id for row in rows)),
        runners=held_by,
        managers=await runner_listings.managers(connection, {process_of(row) for row in rows if row.runner_id}),
        holding=await runner_listings.holding_processes(connection, held_by, ticks),
        pipelines=await _by_id(connection, PIPELINE, PipelineRow, (row.pipeline_id for row in rows)),
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
    connection: AsyncConnection,
    columns: Table | Sequence[ColumnElement[Any]],
    kind: type[Typed],
    ids: Iterable[int | None],
) -> dict[int, Typed]:
    wanted = {key for key in ids if key is not None}
    if not wanted:
        return {}
    selected = columns.columns if isinstance(columns, Table) else columns
    key = next(column for column in selected if column.name == "id")
    result = await connection.execute(select(*selected).where(key.in_(wanted)))
    read = reader(kind, result)
    return {row.id: read(row) for row in result}
