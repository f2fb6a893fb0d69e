"""The page of runners and of what waits for them, for everybody as far as they may know of it."""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from fastapi import Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.pages.frame.live import event_stream
from api.pages.frame.live_parts import Fragment
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import live_page
from api.pages.frame.templates import fragment
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep
from application.runners.overview import overview_for
from auth.permissions import Caller
from domain.runners.matching import RunnerType
from domain.runners.status import Connection
from models.notifications import PIPELINES

PER_PAGE: Final = 50
CONNECTIONS: Final = {
    Connection.ONLINE: ("success", "Online"),
    Connection.OFFLINE: ("failed", "Offline"),
    Connection.STALE: ("canceled", "Not heard of for a week"),
    Connection.NEVER_CONTACTED: ("created", "Never heard of"),
}
"""How a runner looks: the group of states whose colour and glyph it has, and its words."""
TYPES: Final = {
    RunnerType.INSTANCE: "of the instance",
    RunnerType.GROUP: "of a group",
    RunnerType.PROJECT: "of projects",
}

router = RouteList(prefix="/-/runners")


async def draw(services: Services, caller: Caller, number: int) -> Fragment:
    """All of it as the caller may know it now."""
    found = await overview_for(services, caller, number, PER_PAGE)
    now = services.clock()
    return fragment(
        "runners/_runners.html",
        found=found,
        since=partial(_since, now),
        connections=CONNECTIONS,
        types=TYPES,
        number=number,
        last=page_count(found.total, PER_PAGE),
    )


def _since(now: datetime, waited: float) -> datetime:
    """When something began to wait, to the second: the same time each time it is drawn."""
    return (now - timedelta(seconds=waited - 0.5)).replace(microsecond=0)


@router.get("")
async def runners_page(request: Request, services: ServicesDep, caller: KnownCallerDep, page: Number = 1) -> Response:
    """The page."""
    live = await draw(services, caller, page)
    return live_page("runners/runners.html", request, caller, live, "/-/runners/events")


@router.get("/events")
async def runners_events(request: Request, services: ServicesDep, caller: KnownCallerDep, page: Number = 1) -> Response:
    """Its changes."""
    return await event_stream(request, services, caller, lambda: draw(services, caller, page), PIPELINES)
