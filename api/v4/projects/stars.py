"""Stars: people mark the projects that they want to find again."""

from fastapi import Response
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, KnownCallerDep, ProjectDep
from api.v4.pagination import PagingDep
from api.v4.projects.documents import project_page
from api.v4.projects.projects import project_document
from api.v4.representation.people import PersonResponse, person
from api.v4.representation.projects import ProjectResponse
from application.access import viewer_of
from domain.moments import moment
from models.repositories.accounts import accounts, stars
from models.repositories.accounts.stars import Stargazer
from models.repositories.paging import slice_of
from models.repositories.projects.listings import ProjectFilter
from models.repositories.projects.listings import projects as listed

router = RouteList()


class StarrerResponse(TypedDict):
    """Who has starred a project, and since when."""

    starred_since: str
    user: PersonResponse


@router.post("/projects/{project}/star", status_code=201, response_model=ProjectResponse)
async def star_project(
    project: ProjectDep, _caller: KnownCallerDep, services: ServicesDep
) -> ProjectResponse | Response:
    """Star a project that one may read. Answers 304 where that has been done, as GitLab."""
    async with services.database.write() as connection:
        if not await stars.give(connection, project.row.id, project.caller.user_id, services.clock()):
            return Response(status_code=304)
        return await project_document(connection, services, project)


@router.post("/projects/{project}/unstar", status_code=201, response_model=ProjectResponse)
async def unstar_project(
    project: ProjectDep, _caller: KnownCallerDep, services: ServicesDep
) -> ProjectResponse | Response:
    """Take one's star back. Answers 304 where there is none."""
    async with services.database.write() as connection:
        if not await stars.take(connection, project.row.id, project.caller.user_id):
            return Response(status_code=304)
        return await project_document(connection, services, project)


@router.get("/projects/{project}/starrers", response_model=list[StarrerResponse])
async def starrers(project: ProjectDep, services: ServicesDep, paging: PagingDep, search: str = "") -> JSONResponse:
    """Who has starred a project, and when."""
    statement = stars.people_of(project.row.id, search)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([_starrer(row, services.settings.url) for row in found.rows], found.total)


def _starrer(row: Stargazer, url: str) -> StarrerResponse:
    return {"starred_since": moment(row.starred_at), "user": person(row, url)}


@router.get("/users/{user_id}/starred_projects", response_model=list[ProjectResponse])
async def starred_projects(
    user_id: Id, caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, search: str = ""
) -> JSONResponse:
    """The projects that somebody has starred, as far as the caller may see them."""
    async with services.database.read() as connection:
        await accounts.get(connection, user_id)
    wanted = ProjectFilter(viewer_of(caller), search=search, starred_by=user_id)
    return await project_page(services, caller, listed(wanted), paging)


@router.get("/users/{user_id}/projects", response_model=list[ProjectResponse])
async def projects_of_user(
    user_id: Id, caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, search: str = ""
) -> JSONResponse:
    """The projects in somebody's own namespace, as far as the caller may see them."""
    async with services.database.read() as connection:
        await accounts.get(connection, user_id)
    wanted = ProjectFilter(viewer_of(caller), search=search, owned_by=user_id)
    return await project_page(services, caller, listed(wanted), paging)
