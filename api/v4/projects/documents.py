"""Projects as documents: their rows with what other tables and their repositories know of them."""

import asyncio
from collections.abc import Collection, Sequence

from fastapi.responses import JSONResponse
from sqlalchemy.ext.asyncio import AsyncConnection

from api.services import Services
from api.v4.pagination import Paging
from api.v4.representation.projects import ProjectResponse, StatisticsResponse
from api.v4.representation.projects import project as shown
from api.v4.representation.projects import statistics as figures
from application.access import viewer_of
from auth.permissions import Caller
from domain.errors import NotFound
from git.reading.history import count_commits
from git.reading.measuring import is_empty, size_on_disk
from git.reading.revision import commit_named
from git.repository import Repository
from models.repositories.paging import Listing, slice_of
from models.repositories.projects import project_facts, projects
from models.rows.projects import ProjectRow


async def project_row(connection: AsyncConnection, project_id: int) -> ProjectRow:
    """A project as it is now. Raises `NotFound`."""
    row = await projects.find(connection, project_id)
    if row is None:
        raise NotFound("Project Not Found")
    return row


async def documents(
    services: Services,
    connection: AsyncConnection,
    caller: Caller,
    rows: Sequence[ProjectRow],
    *,
    level: int | None = None,
    statistics: bool = False,
) -> list[ProjectResponse]:
    """Projects as a caller sees them; `level` is their access level in all of them, where it is known.

    `statistics` come with those that they may measure.
    """
    viewer = viewer_of(caller)
    facts = await project_facts.facts_of(connection, rows, viewer)
    told = await project_facts.measured_by(connection, viewer, [row.id for row in rows]) if statistics else ()
    measured = await _measured(services, connection, [row for row in rows if row.id in told]) if told else {}
    empty = await asyncio.to_thread(_empty_of, services, rows)
    url = services.settings.url
    return [
        shown(row, facts[row.id], url, level, is_empty=row.id in empty, statistics=measured.get(row.id)) for row in rows
    ]


async def project_page(
    services: Services, caller: Caller, statement: Listing[ProjectRow], paging: Paging, *, statistics: bool = False
) -> JSONResponse:
    """A page of projects."""
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
        items = await documents(services, connection, caller, found.rows, statistics=statistics)
    return paging.response(items, found.total)


def _repository(services: Services, project_id: int) -> Repository | None:
    try:
        return services.repositories.get(project_id)
    except NotFound:
        return None


def _empty_of(services: Services, rows: Collection[ProjectRow]) -> set[int]:
    found = ((row.id, _repository(services, row.id)) for row in rows)
    return {key for key, repository in found if repository is None or is_empty(repository)}


async def _measured(
    services: Services, connection: AsyncConnection, rows: Collection[ProjectRow]
) -> dict[int, StatisticsResponse]:
    artifacts = await project_facts.artifact_sizes(connection, [row.id for row in rows])

    async def of(row: ProjectRow) -> StatisticsResponse:
        repository = _repository(services, row.id)
        if repository is None:
            return figures(0, 0, artifacts.get(row.id, 0))
        head = await commit_named(repository, f"refs/heads/{row.default_branch}")
        commits = 0 if head is None else await count_commits(repository, head)
        return figures(commits, await size_on_disk(repository), artifacts.get(row.id, 0))

    return {row.id: await of(row) for row in rows}
