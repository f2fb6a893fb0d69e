"""What somebody is a member of, and what else GitLab tells of people: their addresses and statuses."""

from typing import Literal

from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, KnownCallerDep
from api.v4.pagination import PagingDep
from auth.permissions import require_admin
from domain.moments import moment
from models.repositories.accounts import accounts, members
from models.repositories.paging import slice_of
from models.rows.accounts import UserRow

router = RouteList()


class MembershipResponse(TypedDict):
    """What somebody is in a project or group; `source_type` is `Project` or `Namespace`."""

    source_id: int
    source_name: str
    source_type: str
    access_level: int


class EmailResponse(TypedDict):
    """An e-mail address."""

    id: int
    email: str
    confirmed_at: str


class UserStatusResponse(TypedDict):
    """The status of a person: nobody has one here."""

    emoji: None
    message: None
    availability: None
    message_html: None
    clear_status_at: None


@router.get("/users/{user_id}/memberships", response_model=list[MembershipResponse])
async def memberships_of(
    user_id: Id,
    caller: KnownCallerDep,
    services: ServicesDep,
    paging: PagingDep,
    type: Literal["", "Project", "Namespace"] = "",  # noqa: A002  # GitLab's name of the parameter
) -> JSONResponse:
    """The projects and groups that somebody is a member of by themselves; only administrators may ask."""
    require_admin(caller)
    async with services.database.read() as connection:
        await accounts.get(connection, user_id)
        found = await slice_of(connection, members.of_person(user_id, type), paging.number, paging.size)
    items: list[MembershipResponse] = [
        {
            "source_id": row.source_id,
            "source_name": row.source_name,
            "source_type": row.source_type,
            "access_level": row.access_level,
        }
        for row in found.rows
    ]
    return paging.response(items, found.total)


@router.get("/user/emails")
async def own_addresses(caller: KnownCallerDep, services: ServicesDep) -> list[EmailResponse]:
    """One's e-mail addresses: everybody has one."""
    async with services.database.read() as connection:
        return [_address(await accounts.get(connection, caller.user_id))]


@router.get("/users/{user_id}/emails")
async def addresses_of(user_id: Id, caller: KnownCallerDep, services: ServicesDep) -> list[EmailResponse]:
    """Somebody's; only administrators may ask."""
    require_admin(caller)
    async with services.database.read() as connection:
        return [_address(await accounts.get(connection, user_id))]


def _address(row: UserRow) -> EmailResponse:
    return {"id": row.id, "email": row.email, "confirmed_at": moment(row.created_at)}


@router.get("/user/status")
async def own_status(_caller: KnownCallerDep) -> UserStatusResponse:
    """One's status: nobody has one here."""
    return _no_status()


@router.get("/users/{user_id}/status")
async def status_of(user_id: Id, _caller: KnownCallerDep, services: ServicesDep) -> UserStatusResponse:
    """Somebody's."""
    async with services.database.read() as connection:
        await accounts.get(connection, user_id)
    return _no_status()


def _no_status() -> UserStatusResponse:
    return {"emoji": None, "message": None, "availability": None, "message_html": None, "clear_status_at": None}
