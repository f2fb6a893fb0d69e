"""What rows point to, read for a whole list at once: people, runners, pipelines, artifacts, groups."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.info import LEGACY_SYSTEM_ID
from models.columns import Record, table_of
from models.repositories.artifacts import artifacts
from models.repositories.runners import runner_listings
from models.tables.accounts import User
from models.tables.merge_requests import MergeRequest
from models.tables.namespaces import Namespace
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.tables.runners import Runner

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

    users: Mapping[int, Record]
    runners: Mapping[int, Record]
    managers: Mapping[tuple[int, str], Record]
    busy: frozenset[tuple[int, str]]
    pipelines: Mapping[int, Record]
    artifacts: Mapping[int, Sequence[Record]]

    @property
    def busy_runners(self) -> frozenset[int]:
        """The runners that hold a job."""
        return frozenset(runner_id for runner_id, _ in self.busy)


async def of_jobs(connection: AsyncConnection, rows: Sequence[Record]) -> Relations:
    """Everything that these jobs point to."""
    by_job: defaultdict[int, list[Record]] = defaultdict(list)
    for row in await artifacts.of_jobs(connection, [row.id for row in rows]):
        by_job[row.job_id].append(row)
    runners = await _by_id(connection, runner, (row.runner_id for row in rows))
    return Relations(
        users=await users(connection, (row.user_id for row in rows)),
        runners=runners,
        managers=await runner_listings.managers(connection, {process_of(row) for row in rows if row.runner_id}),
        busy=await runner_listings.busy_processes(connection, runners),
        pipelines=await _by_id(connection, pipeline, (row.pipeline_id for row in rows)),
        artifacts=by_job,
    )


def process_of(row: Record) -> tuple[int, str]:
    """The process that has or had a job that a runner took; a runner of old does not name it."""
    return row.runner_id, row.system_id or LEGACY_SYSTEM_ID


async def users(connection: AsyncConnection, ids: Iterable[int]) -> Mapping[int, Record]:
    """People by id."""
    return await _by_id(connection, user, ids)


async def runners(connection: AsyncConnection, ids: Iterable[int]) -> Mapping[int, Record]:
    """Runners by id."""
    return await _by_id(connection, runner, ids)


async def projects(connection: AsyncConnection, ids: Iterable[int]) -> Mapping[int, Record]:
    """Projects by id."""
    return await _by_id(connection, project, ids)


async def merge_requests(connection: AsyncConnection, ids: Iterable[int]) -> Mapping[int, Record]:
    """Merge requests by id."""
    return await _by_id(connection, merge_request, ids)


async def namespaces(connection: AsyncConnection, ids: Iterable[int]) -> Mapping[int, Record]:
    """Groups by id."""
    return await _by_id(connection, namespace, ids)


async def _by_id(connection: AsyncConnection, table: Table, ids: Iterable[int | None]) -> dict[int, Record]:
    wanted = {key for key in ids if key is not None}
    if not wanted:
        return {}
    rows = (await connection.execute(select(table).where(table.c.id.in_(wanted)))).all()
    return {row.id: row for row in rows}
