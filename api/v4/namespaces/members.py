"""Members of projects and groups, under the same parts of their addresses."""

from datetime import date
from typing import Annotated, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.namespaces.member_access import MemberAccess, of_group, of_project
from api.v4.owned_routes import mounted, of_owner
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.people import MemberResponse
from api.v4.representation.people import member as shown
from application.audit import record
from application.pods.visitors import expected
from domain.errors import Invalid, NotFound, Refused
from models.repositories.accounts import accounts, members
from models.repositories.accounts.members import ListedMember
from models.repositories.installation.audit import Happened
from models.repositories.paging import Listing, slice_of
from models.rows.accounts import UserRow

router = RouteList()
routes = RouteList()

Level = Literal[10, 20, 30, 40, 50]


class NewMember(Optionals):
    """Parameters of `POST .../members`; the person is named by number or by user name.

    A membership lasts until the beginning of the day `expires_at`.
    """

    user_id: int | None = Field(default=None, ge=1, le=2**53)
    username: str = Field(default="", max_length=255)
    access_level: Level
    expires_at: date | None = None


class MemberChange(BaseModel):
    """Parameters of `PUT .../members/:user_id`."""

    access_level: Level
    expires_at: date | None = None


async def _page(services: Services, paging: Paging, statement: Listing[ListedMember]) -> JSONResponse:
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([shown(row, services.settings.url) for row in found.rows], found.total)


async def _one(
    connection: AsyncConnection, services: Services, statement: Listing[ListedMember], user_id: int
) -> MemberResponse:
    row = await members.one(connection, statement, user_id)
    if row is None:
        raise NotFound("Not found")
    return shown(row, services.settings.url)


async def _person(connection: AsyncConnection, new: NewMember) -> UserRow:
    """Whom a new membership is for. Raises `Invalid` unless one is named, `NotFound`."""
    if (new.user_id is None) == (not new.username):
        raise Invalid("user_id, username: exactly one of them must be given")
    if new.user_id is not None:
        return await accounts.get(connection, new.user_id)
    row = await accounts.by_username(connection, new.username)
    if row is None:
        raise NotFound("User Not Found")
    return row


@routes.get("", response_model=list[MemberResponse])
async def list_members(
    services: ServicesDep, paging: PagingDep, query: str = "", access: MemberAccess = Depends(of_owner)
) -> JSONResponse:
    """The people of a project or group itself with their access levels."""
    return await _page(services, paging, members.narrowed(access.own(), query))


@routes.get("/all", response_model=list[MemberResponse])
async def list_all_members(
    services: ServicesDep, paging: PagingDep, query: str = "", access: MemberAccess = Depends(of_owner)
) -> JSONResponse:
    """The same with the people of the groups above, each once with the highest level."""
    return await _page(services, paging, members.narrowed(access.all(), query))


@routes.get("/all/{user_id}")
async def get_any_member(
    user_id: Id, services: ServicesDep, access: MemberAccess = Depends(of_owner)
) -> MemberResponse:
    """One of them."""
    async with services.database.read() as connection:
        return await _one(connection, services, access.all(), user_id)


@routes.get("/{user_id}")
async def get_member(user_id: Id, services: ServicesDep, access: MemberAccess = Depends(of_owner)) -> MemberResponse:
    """One member of a project or group itself."""
    async with services.database.read() as connection:
        return await _one(connection, services, access.own(), user_id)


@routes.post("", status_code=201)
async def add_member(
    new: Annotated[NewMember, Depends(given(NewMember))],
    services: ServicesDep,
    access: MemberAccess = Depends(of_owner),
) -> MemberResponse:
    """Give a person an access level: in a project at most one's own, in a group as its owner.

    Answers 409 for a person who is a member already.
    """
    access.require_change()
    access.require_level(new.access_level)
    if new.user_id is None and new.username:
        new.username = await expected(services, access.caller, new.username)
    async with services.database.write() as connection:
        person = await _person(connection, new)
        if await members.one(connection, access.own(), person.id) is not None:
            raise Refused("Member already exists")
        await access.add(connection, person.id, new.access_level, new.expires_at)
        await _note(connection, services, access, "member_added", person.username, new.access_level)
        return await _one(connection, services, access.own(), person.id)


@routes.put("/{user_id}")
async def change_member(
    user_id: Id,
    change: Annotated[MemberChange, Depends(given(MemberChange))],
    services: ServicesDep,
    access: MemberAccess = Depends(of_owner),
) -> MemberResponse:
    """Give a member another access level: in a project nobody above oneself, in a group as its owner.

    A group keeps one owner at least.
    """
    access.require_change()
    async with services.database.write() as connection:
        before = await _one(connection, services, access.own(), user_id)
        access.require_level(max(before["access_level"], change.access_level))
        await access.change(connection, user_id, change.access_level, change.expires_at)
        await _note(connection, services, access, "member_changed", before["username"], change.access_level)
        return await _one(connection, services, access.own(), user_id)


@routes.delete("/{user_id}", status_code=204)
async def remove_member(user_id: Id, services: ServicesDep, access: MemberAccess = Depends(of_owner)) -> Response:
    """End a membership: one's own, or that of somebody not above oneself. A group keeps one owner at least."""
    is_mine = user_id == access.caller.user_id
    if not is_mine:
        access.require_change()
    async with services.database.write() as connection:
        before = await _one(connection, services, access.own(), user_id)
        if not is_mine:  # whose membership is over has no level any more, and may leave
            access.require_level(before["access_level"])
        await access.remove(connection, user_id)
        await _note(connection, services, access, "member_removed", before["username"], before["access_level"])
    return Response(status_code=204)


async def _note(
    connection: AsyncConnection, services: Services, access: MemberAccess, name: str, username: str, level: int
) -> None:
    happened = Happened(name, {"member": username, "access_level": level})
    await record(connection, access.caller, access.entity, happened, services.clock())


router.include(mounted(routes, "/projects/{project}/members", {of_owner: of_project}))
router.include(mounted(routes, "/groups/{group}/members", {of_owner: of_group}))
