"""The first page: projects with their newest pipelines."""

from typing import Annotated, Final

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import CallerDep, ServicesDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.routes import RouteList
from api.services import Services
from application.access import viewer_of
from auth.permissions import Caller
from models.notifications import PIPELINES
from models.repositories.accounts import accounts
from models.repositories.paging import slice_of
from models.repositories.projects.listings import ProjectFilter, newest_pipelines, projects
from models.repositories.projects.projects import readable_of
from models.repositories.runners import runners

PER_PAGE: Final = 50

router = RouteList()

Number = Annotated[int, Query(ge=1, le=1_000_000)]


async def draw(services: Services, caller: Caller, number: int, within: str = "") -> Fragment:
    """The list; `within` is the trail of a group, for what is in it only."""
    async with services.database.read() as connection:
        viewer = viewer_of(caller)
        found = await slice_of(connection, projects(ProjectFilter(viewer, within=within)), number, PER_PAGE)
        readable = await readable_of(connection, viewer, (row.id for row in found.rows))
        newest = await newest_pipelines(connection, readable)
    return fragment(
        "projects/_projects.html",
        caller=caller,
        projects=found.rows,
        readable=readable,
        newest=newest,
        number=number,
        last=page_count(found.total, PER_PAGE),
        url=services.settings.url,
    )


@router.get("/")
async def home(request: Request, services: ServicesDep, caller: CallerDep, page: Number = 1) -> Response:
    """The page; administrators read there whose jobs may do what the server's user may."""
    live = await draw(services, caller, page)
    as_server = others = False
    if caller.is_admin:
        async with services.database.read() as connection:
            as_server = await runners.any_as_server(connection)
            others = await accounts.has_others(connection)
    return live_page("projects/home.html", request, caller, live, "/-/events", as_server=as_server, others=others)


@router.get("/-/events")
async def home_events(request: Request, services: ServicesDep, caller: CallerDep, page: Number = 1) -> Response:
    """Its changes."""
    return await event_stream(request, services, caller, lambda: draw(services, caller, page), PIPELINES)
