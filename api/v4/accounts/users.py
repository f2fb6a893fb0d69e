"""People."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends
from fastapi.responses import JSONResponse
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, KnownCallerDep
from api.v4.pagination import PagingDep
from api.v4.representation.people import AccountResponse, PersonResponse, account, person
from application.projects.creation import ensure_own_namespace
from auth.permissions import Caller
from models.repositories.accounts import accounts, identities
from models.repositories.accounts.people import PeopleFilter, people
from models.repositories.namespaces import namespaces
from models.repositories.paging import slice_of
from models.rows.accounts import UserRow

router = RouteList()


@router.get("/user")
async def current_user(caller: KnownCallerDep, services: ServicesDep) -> AccountResponse:
    """Who I am."""
    await ensure_own_namespace(services, caller)
    async with services.database.read() as connection:
        row = await accounts.get(connection, caller.user_id)
        return (await accounts_of(connection, [row], services.settings.url))[0]


async def people_filter(
    caller: KnownCallerDep,
    username: str = "",
    search: str = "",
    active: bool = False,
    blocked: bool = False,
    exclude_active: bool = False,
    external: bool = False,
    exclude_external: bool = False,
    humans: bool = False,
    without_project_bots: bool = False,
    exclude_humans: bool = False,
    admins: bool = False,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    extern_uid: str = "",
) -> PeopleFilter:
    """Which people a call wants. What only administrators may ask for narrows nothing for others, as in GitLab."""
    bots = True if exclude_humans else False if humans or without_project_bots else None
    only = PeopleFilter(
        username,
        search,
        state=accounts.ACTIVE if active else "",
        without_state=accounts.ACTIVE if exclude_active or blocked else "",
        external=True if external else False if exclude_external else None,
        bots=bots,
    )
    if not caller.is_admin:
        return only
    after, before = (
        moment and moment.replace(tzinfo=moment.tzinfo or UTC) for moment in (created_after, created_before)
    )
    return replace(only, admins=admins, created_after=after, created_before=before, subject=extern_uid, by_email=True)


@router.get("/users", response_model=list[AccountResponse] | list[PersonResponse])
async def list_users(
    caller: KnownCallerDep,
    services: ServicesDep,
    paging: PagingDep,
    wanted: Annotated[PeopleFilter, Depends(people_filter)],
) -> JSONResponse:
    """People, also by exact name."""
    async with services.database.read() as connection:
        found = await slice_of(connection, people(wanted), paging.number, paging.size)
        documents = await _shown(connection, caller, found.rows, services.settings.url)
    return paging.response(documents, found.total)


@router.get("/users/{user_id}")
async def get_user(user_id: Id, caller: KnownCallerDep, services: ServicesDep) -> AccountResponse | PersonResponse:
    """One person."""
    async with services.database.read() as connection:
        row = await accounts.get(connection, user_id)
        (document,) = await _shown(connection, caller, [row], services.settings.url)
    return document


async def _shown(
    connection: AsyncConnection, caller: Caller, rows: Sequence[UserRow], url: str
) -> Sequence[AccountResponse] | Sequence[PersonResponse]:
    """People as a caller sees them: administrators see everything, and who they are at a provider."""
    return await accounts_of(connection, rows, url) if caller.is_admin else [person(row, url) for row in rows]


async def accounts_of(connection: AsyncConnection, rows: Sequence[UserRow], url: str) -> list[AccountResponse]:
    """People as they themselves and administrators see them."""
    keys = [row.id for row in rows]
    known, own = await identities.of_people(connection, keys), await namespaces.own_of(connection, keys)
    return [account(row, url, known.get(row.id, ()), own.get(row.id)) for row in rows]
