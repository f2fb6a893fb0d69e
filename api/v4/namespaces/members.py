"""Members of projects and groups, under the same parts of their addresses."""

from datetime import date
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id, SeenProjectDep
from api.v4.namespaces.groups import GroupAccess, GroupDep
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.people import MemberResponse
from api.v4.representation.people import member as shown
from application.access import ProjectAccess
from application.audit import record
from auth.permissions import OWNER, Action, GroupAction
from domain.errors import Forbidden, Invalid, NotFound, Refused
from models.repositories.accounts import accounts, members
from models.repositories.accounts.members import ListedMember
from models.repositories.environments import protected_environments
from models.repositories.installation.audit import Happened
from models.repositories.paging import Listing, every_of, slice_of
from models.rows.accounts import UserRow

router = APIRouter()

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
    return paging.answer([shown(row, services.settings.url) for row in found.rows], found.total)


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


def _require_no_more(level: int, own: int) -> None:
    if level > own:
        raise Forbidden(f"Forbidden: nobody can give a higher access level than their own ({own}).")


@router.get("/projects/{project}/members", response_model=list[MemberResponse])
async def list_members(
    project: SeenProjectDep, services: ServicesDep, paging: PagingDep, query: str = ""
) -> JSONResponse:
    """The people of a project itself with their access levels."""
    return await _page(services, paging, members.narrowed(members.of_project(project.row.id), query))


@router.get("/projects/{project}/members/all", response_model=list[MemberResponse])
async def list_all_members(
    project: SeenProjectDep, services: ServicesDep, paging: PagingDep, query: str = ""
) -> JSONResponse:
    """The people of a project and of the groups that it lies in, each once with the highest level."""
    return await _page(services, paging, members.narrowed(members.all_of_project(project.row), query))


@router.get("/projects/{project}/members/all/{user_id}")
async def get_any_member(user_id: Id, project: SeenProjectDep, services: ServicesDep) -> MemberResponse:
    """One of them."""
    async with services.database.read() as connection:
        return await _one(connection, services, members.all_of_project(project.row), user_id)


@router.get("/projects/{project}/members/{user_id}")
async def get_member(user_id: Id, project: SeenProjectDep, services: ServicesDep) -> MemberResponse:
    """One member of a project itself."""
    async with services.database.read() as connection:
        return await _one(connection, services, members.of_project(project.row.id), user_id)


@router.post("/projects/{project}/members", status_code=201)
async def add_member(
    new: Annotated[NewMember, Depends(given(NewMember))], project: SeenProjectDep, services: ServicesDep
) -> MemberResponse:
    """Give a person an access level, at most one's own. Answers 409 for a person who is a member already."""
    project.require(Action.ADMINISTER)
    _require_no_more(new.access_level, project.level)
    statement = members.of_project(project.row.id)
    async with services.database.write() as connection:
        person = await _person(connection, new)
        if await members.one(connection, statement, person.id) is not None:
            raise Refused("Member already exists")
        await members.add_to_project(connection, project.row.id, person.id, new.access_level, new.expires_at)
        await _note(connection, services, project, "member_added", person.username, new.access_level)
        return await _one(connection, services, statement, person.id)


@router.put("/projects/{project}/members/{user_id}")
async def change_member(
    user_id: Id,
    change: Annotated[MemberChange, Depends(given(MemberChange))],
    project: SeenProjectDep,
    services: ServicesDep,
) -> MemberResponse:
    """Give a member another access level; nobody changes those above themselves."""
    project.require(Action.ADMINISTER)
    statement = members.of_project(project.row.id)
    async with services.database.write() as connection:
        before = await _one(connection, services, statement, user_id)
        _require_no_more(max(before["access_level"], change.access_level), project.level)
        values = {"access_level": change.access_level, "expires_on": change.expires_at}
        await members.change_in_project(connection, project.row.id, user_id, **values)
        await _note(connection, services, project, "member_changed", before["username"], change.access_level)
        return await _one(connection, services, statement, user_id)


@router.delete("/projects/{project}/members/{user_id}", status_code=204)
async def remove_member(user_id: Id, project: SeenProjectDep, services: ServicesDep) -> Response:
    """End a membership: one's own, or that of somebody not above oneself."""
    if user_id != project.caller.user_id:
        project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        before = await _one(connection, services, members.of_project(project.row.id), user_id)
        _require_no_more(before["access_level"], project.level)
        await members.remove_from_project(connection, project.row.id, user_id)
        await protected_environments.forget_person(connection, project.row.id, user_id)
        await _note(connection, services, project, "member_removed", before["username"], before["access_level"])
    return Response(status_code=204)


@router.get("/groups/{group}/members", response_model=list[MemberResponse])
async def list_group_members(
    group: GroupDep, services: ServicesDep, paging: PagingDep, query: str = ""
) -> JSONResponse:
    """The people of a group itself with their access levels."""
    return await _page(services, paging, members.narrowed(members.of_group(group.row.id), query))


@router.get("/groups/{group}/members/all", response_model=list[MemberResponse])
async def list_all_group_members(
    group: GroupDep, services: ServicesDep, paging: PagingDep, query: str = ""
) -> JSONResponse:
    """The people of a group and of those above it, each once with the highest level."""
    return await _page(services, paging, members.narrowed(members.all_of_group(group.row), query))


@router.get("/groups/{group}/members/{user_id}")
async def get_group_member(user_id: Id, group: GroupDep, services: ServicesDep) -> MemberResponse:
    """One member of a group itself."""
    async with services.database.read() as connection:
        return await _one(connection, services, members.of_group(group.row.id), user_id)


@router.post("/groups/{group}/members", status_code=201)
async def add_group_member(
    new: Annotated[NewMember, Depends(given(NewMember))], group: GroupDep, services: ServicesDep
) -> MemberResponse:
    """Give a person an access level in a group and all within it; its owners may."""
    group.require(GroupAction.OWN)
    statement = members.of_group(group.row.id)
    async with services.database.write() as connection:
        person = await _person(connection, new)
        if await members.one(connection, statement, person.id) is not None:
            raise Refused("Member already exists")
        await members.add_to_group(connection, group.row.id, person.id, new.access_level, new.expires_at)
        await _note(connection, services, group, "member_added", person.username, new.access_level)
        return await _one(connection, services, statement, person.id)


@router.put("/groups/{group}/members/{user_id}")
async def change_group_member(
    user_id: Id,
    change: Annotated[MemberChange, Depends(given(MemberChange))],
    group: GroupDep,
    services: ServicesDep,
) -> MemberResponse:
    """Give a member of a group another access level; its owners may. A group keeps one owner at least."""
    group.require(GroupAction.OWN)
    statement = members.of_group(group.row.id)
    async with services.database.write() as connection:
        before = await _one(connection, services, statement, user_id)
        values = {"access_level": change.access_level, "expires_on": change.expires_at}
        await members.change_in_group(connection, group.row.id, user_id, **values)
        await _require_owner(connection, group)
        await _note(connection, services, group, "member_changed", before["username"], change.access_level)
        return await _one(connection, services, statement, user_id)


@router.delete("/groups/{group}/members/{user_id}", status_code=204)
async def remove_group_member(user_id: Id, group: GroupDep, services: ServicesDep) -> Response:
    """End a membership of a group: one's own, or as its owner any. A group keeps one owner at least."""
    if user_id != group.caller.user_id:
        group.require(GroupAction.OWN)
    async with services.database.write() as connection:
        before = await _one(connection, services, members.of_group(group.row.id), user_id)
        await members.remove_from_group(connection, group.row.id, user_id)
        await _require_owner(connection, group)
        await _note(connection, services, group, "member_removed", before["username"], before["access_level"])
    return Response(status_code=204)


async def _require_owner(connection: AsyncConnection, group: GroupAccess) -> None:
    """Raise `Forbidden` where nobody would own the group any more."""
    rows = await every_of(connection, members.all_of_group(group.row))
    if not any(row.access_level >= OWNER for row in rows):
        raise Forbidden("Forbidden: this is the last owner of the group; make somebody else an owner first.")


async def _note(
    connection: AsyncConnection,
    services: Services,
    where: ProjectAccess | GroupAccess,
    name: str,
    username: str,
    level: int,
) -> None:
    happened = Happened(name, {"member": username, "access_level": level})
    await record(connection, where.caller, where.entity, happened, services.clock())
