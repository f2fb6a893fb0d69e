"""The page of a group: the projects in it, and in the groups within it, with their newest pipelines."""

from fastapi import Request
from fastapi.responses import Response

from api.deps import CallerDep, ServicesDep
from api.pages.frame.live import event_stream
from api.pages.frame.responses import address_of_page, live_page
from api.pages.projects.home import Number, draw
from api.routes import RouteList
from api.v4.namespaces.groups import GroupDep
from models.notifications import PIPELINES

router = RouteList(prefix="/groups")


@router.get("/{group:path}/-/events")
async def group_events(
    request: Request, group: GroupDep, caller: CallerDep, services: ServicesDep, page: Number = 1
) -> Response:
    """Its changes."""
    return await event_stream(
        request, services, caller, lambda: draw(services, caller, page, group.row.trail), PIPELINES
    )


@router.get("/{group:path}")
async def group_page(
    request: Request, group: GroupDep, caller: CallerDep, services: ServicesDep, page: Number = 1
) -> Response:
    """The page."""
    live = await draw(services, caller, page, group.row.trail)
    events = f"{address_of_page(request).partition('?')[0]}/-/events"
    return live_page("projects/group.html", request, caller, live, events, group=group.row)
