"""The page of a person: who they are, and the projects below their name that the reader may see."""

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from api.deps import CallerDep, ServicesDep
from api.pages.frame.live import event_stream
from api.pages.frame.project_paths import OWNER
from api.pages.frame.responses import live_page
from api.pages.projects.home import Number, draw
from api.routes import RouteList
from api.services import Services
from application.group_access import access_to_group
from auth.permissions import Caller, require_known
from domain.errors import NotFound
from models.notifications import PIPELINES
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.rows.accounts import UserRow

router = RouteList(prefix=f"/{{name:{OWNER}}}")


async def _person(services: Services, caller: Caller, name: str) -> tuple[UserRow, str]:
    """Somebody and the trail of what is theirs; who is there is told to those who are signed in, as by the API."""
    require_known(caller)
    async with services.database.read() as connection:
        row = await accounts.by_username(connection, name)
        if row is None:
            raise NotFound("User Not Found")
        own = (await namespaces.own_of(connection, [row.id])).get(row.id)
        trail = "" if own is None else (await namespaces.get_by(connection, key=own)).trail
    return row, trail or "/0/"


@router.get("")
async def person_page(
    request: Request, name: str, caller: CallerDep, services: ServicesDep, page: Number = 1
) -> Response:
    """The page; the name of a group leads to the group's."""
    async with services.database.read() as connection:
        group = await namespaces.find_top(connection, name)
    if group is not None:
        found = await access_to_group(services, caller, name)
        return RedirectResponse(f"/groups/{found.row.full_path}", 303)
    row, trail = await _person(services, caller, name)
    live = await draw(services, caller, page, trail)
    return live_page("accounts/person.html", request, caller, live, f"/{row.username}/-/events", person=row)


@router.get("/-/events")
async def person_events(
    request: Request, name: str, caller: CallerDep, services: ServicesDep, page: Number = 1
) -> Response:
    """Its changes."""
    _, trail = await _person(services, caller, name)
    return await event_stream(request, services, caller, lambda: draw(services, caller, page, trail), PIPELINES)
