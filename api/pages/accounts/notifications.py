"""The page on which people choose what they hear of by e-mail: of everything, of groups and of single projects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import CallerDep, ServicesDep
from api.pages.frame.responses import NOTICES, page
from api.routes import RouteList
from api.services import Services
from api.v4.namespaces.groups import group_by
from api.v4.origin import require_our_pages
from application.access import access_to
from auth.permissions import Action, Caller
from domain.errors import Forbidden, Invalid, NotFound
from domain.notifications.levels import AT_FIRST, TOLD, Level, Setting
from models.repositories.accounts import accounts
from models.repositories.notifications import mailing, notification_settings
from models.repositories.owner import Owner
from models.repositories.projects import relations

PATH: Final = "/-/profile/notifications"
LEVELS: Final[Mapping[Level, str]] = {
    Level.GLOBAL: "As for everything",
    Level.PARTICIPATING: "What I take part in",
    Level.WATCH: "All that happens",
    Level.CUSTOM: "What I choose below",
    Level.MENTION: "Only where I am mentioned",
    Level.DISABLED: "Nothing",
}
"""Levels as the form names them."""
EVENTS: Final[Mapping[str, str]] = {
    "failed_pipeline": "A pipeline of mine fails",
    "fixed_pipeline": "A pipeline of mine is the first to succeed after a failure",
    "success_pipeline": "A pipeline of mine succeeds",
    "failed_deployment": "A deployment fails",
    "successful_deployment": "A deployment succeeds",
    "deployment_approval": "A deployment waits for somebody who may deploy, as I may",
    "approver": "A merge request needs an approval that I may give",
    "approve_merge_request": "A merge request is approved",
    "merge_merge_request": "A merge request is merged",
    "merge_when_pipeline_succeeds": "A merge that was to happen by itself is given up",
}
"""Events of the level `custom` as the form names them."""

router = RouteList(dependencies=[Depends(require_our_pages)])
Word = Annotated[str, Form(max_length=255)]
Words = Annotated[tuple[str, ...], Form(max_length=len(TOLD))]


@dataclass(frozen=True, slots=True)
class Place:
    """What somebody chose for a place that they may still see; `path` is empty for everything."""

    path: str
    kind: str
    chosen: Setting


@router.get(PATH)
async def show(request: Request, caller: CallerDep, services: ServicesDep) -> Response:
    """What the reader has chosen."""
    if not caller.is_known:
        return RedirectResponse(f"/users/sign_in?next={PATH}", 303)
    return await _page(services, caller, notice=NOTICES.get(request.query_params.get("notice", ""), ""))


@router.post(PATH)
async def choose(
    caller: CallerDep,
    services: ServicesDep,
    level: Word = "",
    kind: Word = "",
    path: Word = "",
    events: Words = (),
) -> Response:
    """Choose for everything, for a group or for a project."""
    if not caller.is_known:
        return RedirectResponse(f"/users/sign_in?next={PATH}", 303)
    try:
        owner = await _owner(services, caller, kind, path.strip().strip("/"))
        if level not in set(LEVELS) or (level == Level.GLOBAL and owner == Owner()):
            raise Invalid("There is no such level; choose one of the list.")
    except (Invalid, NotFound, Forbidden) as error:
        said = str(error) if isinstance(error, Invalid) else f"There is no {kind} {path!r} that you may see."
        return await _page(services, caller, status=400, error=said)
    async with services.database.write() as connection:
        before = await notification_settings.find(connection, caller.user_id, owner) or Setting()
        shown = {name: name in events for name in EVENTS} if level == Level.CUSTOM else {}
        chosen = Setting(Level(level), {**before.events, **shown})
        await notification_settings.put(connection, caller.user_id, owner, chosen, services.clock())
    return RedirectResponse(f"{PATH}?notice=saved", 303)


async def _owner(services: Services, caller: Caller, kind: str, path: str) -> Owner:
    """What a choice is for. Raises `Invalid`, `NotFound`, `Forbidden`."""
    if not kind:
        return Owner()
    if not path:
        raise Invalid("Say which project or group: give its path, as in its address.")
    if kind == "project":
        return Owner(project_id=(await access_to(services, caller, path, Action.SEE)).row.id)
    if kind == "group":
        return Owner(namespace_id=(await group_by(services, caller, path)).row.id)
    raise Invalid("Choose for a project or for a group.")


async def _page(
    services: Services, caller: Caller, status: int = 200, *, error: str = "", notice: str = ""
) -> Response:
    async with services.database.read() as connection:
        person = await accounts.get(connection, caller.user_id)
        sent = await mailing.are_sent(connection)
    places = await _places(services, caller)
    values = {"error": error, "notice": notice, "address": PATH, "email": person.email, "sent": sent}
    return page(
        "accounts/notifications.html",
        caller,
        status,
        places=places,
        levels=LEVELS,
        events=EVENTS,
        Level=Level,
        **values,
    )


async def _places(services: Services, caller: Caller) -> Sequence[Place]:
    """Everything first; then what was chosen for groups and projects that the reader may still see."""
    async with services.database.read() as connection:
        rows = await notification_settings.all_of_person(connection, caller.user_id)
        projects = await relations.projects(connection, (row.project_id for row in rows))
        groups = await relations.namespaces(connection, (row.namespace_id for row in rows))
    everything, found = AT_FIRST, []
    for row in rows:
        chosen = Setting(Level(row.level), row.events)
        if row.project_id is None and row.namespace_id is None:
            everything = chosen
            continue
        of_project = row.project_id is not None
        known = projects.get(row.project_id) if row.project_id is not None else groups.get(row.namespace_id or 0)
        kind = "project" if of_project else "group"
        if known is not None and await _sees(services, caller, kind, known.full_path):
            found.append(Place(known.full_path, kind, chosen))
    return [Place("", "", everything), *sorted(found, key=lambda place: place.path)]


async def _sees(services: Services, caller: Caller, kind: str, path: str) -> bool:
    try:
        await _owner(services, caller, kind, path)
    except (NotFound, Forbidden):
        return False
    return True
