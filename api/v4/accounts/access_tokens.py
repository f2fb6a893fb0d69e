"""Access tokens of people, projects and groups, under GitLab's addresses and shapes.

A token is shown once, when it is made. One of a project or group belongs to a bot, a member there with the token's
level.
"""

import secrets
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Annotated, Final, Literal, NotRequired

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, KnownCallerDep, ProjectDep
from api.v4.namespaces.groups import GroupDep
from api.v4.owned_routes import mounted, of_owner
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from application.access import ProjectAccess
from application.accounts.token_chains import Successor, maker_of, require_person, revoke, rotate
from application.audit import record
from application.group_access import GroupAccess
from auth.permissions import Action, Caller, GroupAction, require_admin
from auth.routable_token import personal_token
from auth.scopes import OF_PROJECTS, Scope, checked_scopes
from auth.secret_token import digest
from domain.decimal_number import decimal_number
from domain.errors import FieldsInvalid, Forbidden, NotFound, Unauthenticated
from domain.moments import moment
from models.repositories.accounts import access_tokens, accounts, members
from models.repositories.accounts.access_tokens import ListedToken, TokenFilter
from models.repositories.installation.audit import Entity, Happened
from models.repositories.paging import slice_of

_MAX_LIFETIME: Final = timedelta(days=400)
"""A token must end, if it is given an end, within this; as in GitLab."""


class NewToken(BaseModel):
    """Parameters of a new token of a person."""

    name: str = Field(min_length=1, max_length=255)
    description: str = Field(default="", max_length=255)
    scopes: list[str]
    expires_at: date | None = None


class NewBotToken(NewToken):
    """Parameters of a new token of a project or group."""

    access_level: Literal[10, 15, 20, 30, 40, 50] = 40


class Rotation(BaseModel):
    """Parameters of a rotation: without an end the new token lasts a week, as in GitLab."""

    expires_at: date | None = None


class TokenWishes(BaseModel):
    """Which tokens of a list."""

    user_id: int | None = Field(default=None, ge=1, le=2**53)
    state: Literal["", "active", "inactive"] = ""
    revoked: bool | None = None
    search: str = ""


class AccessTokenResponse(TypedDict):
    """A token. Those of projects and groups have a level; the token itself is in the one response that shows it.

    `maker_id` is the token that made it, with which it ends.
    """

    id: int
    name: str
    description: str | None
    revoked: bool
    active: bool
    created_at: str
    last_used_at: str | None
    expires_at: str | None
    scopes: list[str]
    user_id: int
    impersonation: NotRequired[bool]
    access_level: NotRequired[int]
    maker_id: NotRequired[int]
    token: NotRequired[str]


def shown(row: ListedToken, *, plain: str = "", level: int | None = None) -> AccessTokenResponse:
    """A token as GitLab's JSON; `plain` is the token itself, in the one response that shows it."""
    document: AccessTokenResponse = {
        "id": row.id,
        "name": row.name,
        "description": row.description or None,
        "revoked": row.revoked_at is not None,
        "active": bool(row.active),
        "created_at": moment(row.created_at),
        "last_used_at": moment(row.last_used_at),
        "expires_at": None if row.expires_on is None else row.expires_on.isoformat(),
        "scopes": list(row.scopes),
        "user_id": row.user_id,
    }
    if row.impersonation:
        document["impersonation"] = True
    if row.maker_id is not None:
        document["maker_id"] = row.maker_id
    if level is not None:
        document["access_level"] = level
    if plain:
        document["token"] = plain
    return document


def checked_end(services: Services, expires_at: date | None) -> date | None:
    """The day on which a token ends. Raises `Invalid` for one that has been, or is too far."""
    today = services.clock().date()
    if expires_at is not None and expires_at <= today:
        raise FieldsInvalid(expires_at="is invalid: must be a future date")
    if expires_at is not None and expires_at > today + _MAX_LIFETIME:
        raise FieldsInvalid(expires_at=f"is invalid: must be before {(today + _MAX_LIFETIME).isoformat()}")
    return expires_at


def require_within(caller: Caller, scopes: list[str]) -> None:
    """Raise `Forbidden` where a token would make one that may do more than itself."""
    if caller.scopes is not None and Scope.API not in caller.scopes and set(scopes) - set(caller.scopes):
        raise Forbidden("Forbidden: a token cannot make one with further scopes.")


router = RouteList()


async def make_personal(
    services: Services, caller: Caller, user_id: int, new: NewToken, *, impersonation: bool = False
) -> AccessTokenResponse:
    """A new token of a person, in the one response that shows it."""
    scopes, wanted = checked_scopes(new.scopes), checked_end(services, new.expires_at)
    require_within(caller, scopes)
    plain, now = personal_token(services.settings.pod_number, user_id), services.clock()
    async with services.database.write() as connection:
        person, maker = await accounts.get(connection, user_id), await maker_of(connection, caller)
        require_person(person)
        values = {"expires_on": maker.last_day(wanted), "description": new.description, "created_by": caller.user_id}
        values |= {"impersonation": impersonation, "names_pod": True, "maker_id": maker.id}
        key = await accounts.add_token(connection, user_id, new.name, digest(plain), now, scopes=scopes, **values)
        facts = {"name": new.name, "scopes": scopes} | ({"impersonation": True} if impersonation else {})
        await record(
            connection, caller, Entity("user", user_id, person.username), Happened("token_created", facts), now
        )
        return shown(await access_tokens.get(connection, key, TokenFilter(impersonation=impersonation)), plain=plain)


@router.post("/users/{user_id}/personal_access_tokens", status_code=201)
async def create_token_of_user(
    user_id: Id, new: Annotated[NewToken, Depends(given(NewToken))], caller: KnownCallerDep, services: ServicesDep
) -> AccessTokenResponse:
    """Make an access token of a person; it is shown only in this response. Only administrators may."""
    require_admin(caller)
    return await make_personal(services, caller, user_id, new)


@router.post("/user/personal_access_tokens", status_code=201)
async def create_own_token(
    new: Annotated[NewToken, Depends(given(NewToken))], caller: KnownCallerDep, services: ServicesDep
) -> AccessTokenResponse:
    """Make an access token of one's own; it is shown only in this response."""
    return await make_personal(services, caller, caller.user_id, new)


@router.get("/personal_access_tokens", response_model=list[AccessTokenResponse])
async def list_tokens(
    wishes: Annotated[TokenWishes, Depends(given(TokenWishes))],
    caller: KnownCallerDep,
    services: ServicesDep,
    paging: PagingDep,
) -> JSONResponse:
    """One's own tokens; those of everybody for administrators, with `user_id` also that of a robot."""
    if not caller.is_admin and wishes.user_id not in {None, caller.user_id}:
        raise Unauthenticated("Unauthorized")
    user_id = wishes.user_id if caller.is_admin else caller.user_id
    wanted = TokenFilter(user_id, state=wishes.state, revoked=wishes.revoked, search=wishes.search)
    wanted = replace(wanted, of_robots=caller.is_admin and user_id is not None)
    async with services.database.read() as connection:
        found = await slice_of(connection, access_tokens.listed(wanted), paging.number, paging.size)
    return paging.response([shown(row) for row in found.rows], found.total)


async def _token(services: Services, caller: Caller, reference: str) -> ListedToken:
    """A token that the caller may see: their own, any one for administrators; `self` is the one that they show."""
    token_id = caller.token_id if reference == "self" else decimal_number(reference) or 0
    async with services.database.read() as connection:
        if reference == "self" or caller.is_admin:  # also that of a project's or group's bot
            return await _any_token(connection, token_id)
        return await access_tokens.get(connection, token_id, TokenFilter(caller.user_id))


async def _any_token(connection: AsyncConnection, token_id: int) -> ListedToken:
    """A token, whosoever it is. Raises `NotFound`."""
    row = await access_tokens.by_id(connection, token_id)
    if row is None:
        raise NotFound("Not found")
    return row


@router.get("/personal_access_tokens/{token}")
async def get_token(token: str, caller: KnownCallerDep, services: ServicesDep) -> AccessTokenResponse:
    """One token; `self` is the one that the call shows."""
    return shown(await _token(services, caller, token))


@router.delete("/personal_access_tokens/{token}", status_code=204)
async def revoke_token(token: str, caller: KnownCallerDep, services: ServicesDep) -> Response:
    """Revoke a token with all that it has made; `self` is the one that the call shows."""
    row = await _token(services, caller, token)
    async with services.database.write() as connection:
        await revoke(connection, caller, row, Entity("user", row.user_id, ""), services.clock())
    return Response(status_code=204)


@router.post("/personal_access_tokens/{token}/rotate")
async def rotate_token(
    token: str,
    rotation: Annotated[Rotation, Depends(given(Rotation))],
    caller: KnownCallerDep,
    services: ServicesDep,
) -> AccessTokenResponse:
    """Replace a token by a new one, shown only in this response; the old one is revoked, what it made is the new one's.

    To rotate by a token that was rotated already ends what it has become: two hold it.
    """
    row = await _token(services, caller, token)
    if row.id != caller.token_id:
        require_within(caller, list(row.scopes))
    return await _rotated(services, caller, row, rotation)


async def _rotated(
    services: Services, caller: Caller, row: ListedToken, rotation: Rotation, level: int | None = None
) -> AccessTokenResponse:
    wanted = checked_end(services, rotation.expires_at)
    async with services.database.write() as connection:
        organisation_id = await access_tokens.organisation_of(connection, row)
        plain = personal_token(services.settings.pod_number, row.user_id, organisation_id=organisation_id)
        key = await rotate(connection, caller, row, Successor(digest(plain), wanted), services.clock())
        fresh = await _any_token(connection, key)
    return shown(fresh, plain=plain, level=level)


@dataclass(frozen=True, slots=True)
class BotHome:
    """A project or group whose tokens somebody administers. `level` is the caller's own."""

    where: ProjectAccess | GroupAccess
    wanted: TokenFilter

    @property
    def is_project(self) -> bool:
        """Whether it is a project."""
        return self.wanted.project_id is not None

    def require_level(self, level: int) -> None:
        """Raise `Forbidden` unless the caller has this level: whoever holds a token may do what the token may."""
        if level > self.where.level:
            raise Forbidden(
                f"Forbidden: a token of access level {level} is made, rotated and revoked by those who have that"
                f" level; yours is {self.where.level}."
            )

    async def level_of(self, connection: AsyncConnection, user_id: int) -> int:
        """The level of a bot."""
        if self.is_project:
            return await members.level_in_project(connection, self.where.row.id, user_id)
        return await members.level_in_group(connection, self.where.row.id, user_id)


async def of_project(project: ProjectDep) -> BotHome:
    """The tokens of a project; maintainers may."""
    project.require(Action.ADMINISTER)
    return BotHome(project, TokenFilter(project_id=project.row.id))


async def of_group(group: GroupDep) -> BotHome:
    """The tokens of a group; owners may."""
    group.require(GroupAction.OWN)
    return BotHome(group, TokenFilter(namespace_id=group.row.id))


async def _add_bot(
    connection: AsyncConnection, home: BotHome, new: NewBotToken, ends: date | None, now: datetime
) -> int:
    """A robot with the token's level, and its end."""
    row, kind = home.where.row, "project" if home.is_project else "group"
    name = f"{kind}_{row.id}_bot_{secrets.token_hex(8)}"
    user_id = await accounts.create_user(connection, name, new.name, f"{name}@noreply.invalid", now, bot=True)
    add = members.add_to_project if home.is_project else members.add_to_group
    await add(connection, row.id, user_id, new.access_level, ends)
    return user_id


routes = RouteList()
"""The same calls for the tokens of projects and of groups."""


@routes.get("", response_model=list[AccessTokenResponse])
async def list_bot_tokens(services: ServicesDep, paging: PagingDep, home: BotHome = Depends(of_owner)) -> JSONResponse:
    """The tokens, newest first."""
    async with services.database.read() as connection:
        found = await slice_of(connection, access_tokens.listed(home.wanted), paging.number, paging.size)
        items = [shown(row, level=await home.level_of(connection, row.user_id)) for row in found.rows]
    return paging.response(items, found.total)


@routes.get("/{token_id}")
async def get_bot_token(token_id: Id, services: ServicesDep, home: BotHome = Depends(of_owner)) -> AccessTokenResponse:
    """One token."""
    async with services.database.read() as connection:
        row = await access_tokens.get(connection, token_id, home.wanted)
        return shown(row, level=await home.level_of(connection, row.user_id))


@routes.post("", status_code=201)
async def create_bot_token(
    new: Annotated[NewBotToken, Depends(given(NewBotToken))],
    services: ServicesDep,
    home: BotHome = Depends(of_owner),
) -> AccessTokenResponse:
    """Make a token with an access level of at most one's own; it is shown only in this response."""
    scopes, wanted = checked_scopes(new.scopes, OF_PROJECTS), checked_end(services, new.expires_at)
    require_within(home.where.caller, scopes)
    home.require_level(new.access_level)
    now = services.clock()
    async with services.database.write() as connection:
        maker = await maker_of(connection, home.where.caller)
        ends = maker.last_day(wanted)
        bot = await _add_bot(connection, home, new, ends, now)
        organisation_id = home.where.row.organisation_id
        plain = personal_token(services.settings.pod_number, bot, organisation_id=organisation_id)
        values = {"expires_on": ends, "description": new.description, "created_by": home.where.caller.user_id}
        values |= {"project_id": home.wanted.project_id, "namespace_id": home.wanted.namespace_id}
        values |= {"names_pod": True, "maker_id": maker.id}
        key = await accounts.add_token(connection, bot, new.name, digest(plain), now, scopes=scopes, **values)
        happened = Happened("token_created", {"name": new.name, "scopes": scopes, "level": new.access_level})
        await record(connection, home.where.caller, home.where.entity, happened, now)
        row = await access_tokens.get(connection, key, home.wanted)
    return shown(row, plain=plain, level=new.access_level)


@routes.delete("/{token_id}", status_code=204)
async def revoke_bot_token(token_id: Id, services: ServicesDep, home: BotHome = Depends(of_owner)) -> Response:
    """Revoke a token; its bot ends with it."""
    async with services.database.write() as connection:
        row = await access_tokens.get(connection, token_id, home.wanted)
        home.require_level(await home.level_of(connection, row.user_id))
        await revoke(connection, home.where.caller, row, home.where.entity, services.clock())
    return Response(status_code=204)


@routes.post("/{token_id}/rotate")
async def rotate_bot_token(
    token_id: Id,
    rotation: Annotated[Rotation, Depends(given(Rotation))],
    services: ServicesDep,
    home: BotHome = Depends(of_owner),
) -> AccessTokenResponse:
    """Replace a token by a new one, shown only in this response."""
    async with services.database.read() as connection:
        row = await access_tokens.get(connection, token_id, home.wanted)
        level = await home.level_of(connection, row.user_id)
    home.require_level(level)
    require_within(home.where.caller, list(row.scopes))
    return await _rotated(services, home.where.caller, row, rotation, level)


router.include(mounted(routes, "/projects/{project}/access_tokens", {of_owner: of_project}))
router.include(mounted(routes, "/groups/{group}/access_tokens", {of_owner: of_group}))
