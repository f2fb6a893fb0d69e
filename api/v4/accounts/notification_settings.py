"""How much the caller wants to hear by e-mail: of everything, of a group, of a project."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends
from pydantic import create_model

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep, SeenProjectDep
from api.v4.namespaces.groups import GroupDep
from api.v4.owned_routes import mounted, of_owner
from api.v4.parameters import Optionals, given
from api.v4.representation.notifications import NotificationSettingsResponse
from api.v4.representation.notifications import settings as shown
from domain.errors import FieldsInvalid
from domain.notifications.levels import AT_FIRST, EVENTS, Level, Setting
from models.repositories.accounts import accounts
from models.repositories.notifications import mailing, notification_settings
from models.repositories.owner import Owner


@dataclass(frozen=True, slots=True)
class Place:
    """Whose settings of what a call is about."""

    user_id: int
    owner: Owner

    @property
    def is_everything(self) -> bool:
        """Whether it is about neither a group nor a project."""
        return self.owner == Owner()


async def of_everything(caller: KnownCallerDep) -> Place:
    """The settings for everything. Raises `Unauthenticated`."""
    return Place(caller.user_id, Owner())


async def of_project(caller: KnownCallerDep, project: SeenProjectDep) -> Place:
    """Those for a project that the caller may know of. Raises `Unauthenticated`, `NotFound`."""
    return Place(caller.user_id, Owner(project_id=project.row.id))


async def of_group(caller: KnownCallerDep, group: GroupDep) -> Place:
    """Those for a group that the caller may know of. Raises `Unauthenticated`, `NotFound`."""
    return Place(caller.user_id, Owner(namespace_id=group.row.id))


PLACES: Final[tuple[tuple[str, Callable[..., Awaitable[Place]]], ...]] = (
    ("/notification_settings", of_everything),
    ("/projects/{project}/notification_settings", of_project),
    ("/groups/{group}/notification_settings", of_group),
)


class _Level(Optionals):
    level: Level | None = None
    notification_email: str | None = None


Choice = create_model("Choice", __base__=_Level, **dict.fromkeys(EVENTS, (bool | None, None)))  # type: ignore[call-overload]
Choice.__doc__ = "Parameters of `PUT .../notification_settings`: a level, and single events for the level `custom`."

routes = RouteList()


@routes.get("")
async def get_settings(services: ServicesDep, place: Place = Depends(of_owner)) -> NotificationSettingsResponse:
    """How much the caller wants to hear."""
    return await _shown(services, place)


@routes.put("")
async def set_settings(
    asked: Annotated[_Level, Depends(given(Choice))], services: ServicesDep, place: Place = Depends(of_owner)
) -> NotificationSettingsResponse:
    """Choose how much; what is not given stays as it is."""
    chosen = {name: value for name in EVENTS if (value := getattr(asked, name)) is not None}
    if place.is_everything and asked.level is Level.GLOBAL:
        raise FieldsInvalid(level="is invalid: this is the global one; choose it for a project or a group.")
    async with services.database.write() as connection:
        if asked.notification_email is not None:
            person = await accounts.get(connection, place.user_id)
            if not place.is_everything or asked.notification_email != person.email:
                raise FieldsInvalid(notification_email="is invalid: e-mails go to the address of the account.")
        before = await notification_settings.find(connection, place.user_id, place.owner) or _at_first(place)
        after = Setting(asked.level or before.level, {**before.events, **chosen})
        await notification_settings.put(connection, place.user_id, place.owner, after, services.clock())
    return await _shown(services, place)


async def _shown(services: Services, place: Place) -> NotificationSettingsResponse:
    async with services.database.read() as connection:
        found = await notification_settings.find(connection, place.user_id, place.owner)
        person = await accounts.get(connection, place.user_id)
        sent = await mailing.are_sent(connection)
    return shown(found or _at_first(place), sent=sent, email=person.email if place.is_everything else None)


def _at_first(place: Place) -> Setting:
    return AT_FIRST if place.is_everything else Setting()


router = RouteList()
for path, found in PLACES:
    router.include(mounted(routes, path, {of_owner: found}))
