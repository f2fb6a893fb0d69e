"""The list of a project's environments, with what is on each of them."""

from typing import Annotated, Final, Literal, TypeAlias

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.environments.folders import folders_of
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from application.access import ProjectAccess, access_to
from application.environments.deployed import standing_of
from auth.permissions import Action
from models.notifications import project_topic
from models.repositories.environments import environments
from models.repositories.environments.environments import AVAILABLE, STOPPED, STOPPING
from models.repositories.paging import slice_of

PER_PAGE: Final = 50
SCOPES: Final = {AVAILABLE: "Available", STOPPING: "Stopping", STOPPED: "Stopped"}
"""The tabs of the list."""

Scope: TypeAlias = Literal["available", "stopping", "stopped"]
Words: TypeAlias = Annotated[str, Query(max_length=255)]

router = RouteList(prefix=f"{PREFIX}/-/environments")


async def draw(
    services: Services, project: ProjectAccess, number: int, scope: str, search: str, folder: str = ""
) -> Fragment:
    """The list as the caller may see it now."""
    project = await access_to(services, project.caller, project.row.id)
    wanted = environments.of_project(project.row.id, state=scope, search=search, folder=folder)
    async with services.database.read() as connection:
        found = await slice_of(connection, wanted, number, PER_PAGE)
        counts = await environments.counts(connection, project.row.id)
    standings = await standing_of(services, project, found.rows)
    return fragment(
        "environments/_environments.html",
        project=project.row,
        folders=folders_of(standings.values()),
        folder=folder,
        tabs_of_states=[
            {"key": state, "text": word, "href": f"?scope={state}", "count": counts.get(state, 0)}
            for state, word in SCOPES.items()
        ],
        scope=scope,
        search=search,
        number=number,
        last=page_count(found.total, PER_PAGE),
    )


@router.get("")
async def list_page(
    request: Request,
    services: ServicesDep,
    project: PageProjectDep,
    page: Number = 1,
    scope: Scope = "available",
    search: Words = "",
) -> Response:
    """The environments of a project."""
    live = await draw(services, project, page, scope, search)
    events = f"/{project.row.full_path}/-/environments/events"
    return live_page(
        "environments/environments.html",
        request,
        project.caller,
        live,
        events,
        project=project.row,
        section="environments",
        folder="",
        search=search,
        scope=scope,
        runs=project.may(Action.RUN),
    )


@router.get("/events")
async def list_events(
    request: Request,
    services: ServicesDep,
    project: PageProjectDep,
    page: Number = 1,
    scope: Scope = "available",
    search: Words = "",
) -> Response:
    """Changes of that list."""
    topic = project_topic(project.row.id)
    return await event_stream(
        request, services, project.caller, lambda: draw(services, project, page, scope, search), topic
    )


@router.get("/folders/{folder}")
async def folder_page(
    folder: str, request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """The environments whose names begin so, whatever their state."""
    live = await draw(services, project, page, "", "", folder)
    events = f"/{project.row.full_path}/-/environments/folders/{folder}/events"
    return live_page(
        "environments/environments.html",
        request,
        project.caller,
        live,
        events,
        project=project.row,
        section="environments",
        folder=folder,
        search="",
        scope="",
        runs=False,
    )


@router.get("/folders/{folder}/events")
async def folder_events(
    folder: str, request: Request, services: ServicesDep, project: PageProjectDep, page: Number = 1
) -> Response:
    """Changes of that list."""
    topic = project_topic(project.row.id)
    return await event_stream(
        request, services, project.caller, lambda: draw(services, project, page, "", "", folder), topic
    )
