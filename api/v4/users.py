"""People."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.v4.access import Id, KnownCallerDep
from api.v4.pagination import PagingDep
from api.v4.representation.people import account, person
from auth.permissions import Caller
from models.columns import Record
from models.repositories import accounts, identities
from models.repositories.listings import people
from models.repositories.paging import slice_of

router = APIRouter()


@router.get("/user")
async def current_user(caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """Who I am."""
    async with services.database.read() as connection:
        row = await accounts.get(connection, caller.user_id)
        known = await identities.of_people(connection, [caller.user_id])
        return account(row, services.settings.url, known.get(caller.user_id, ()))


@router.get("/users")
async def list_users(
    caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, username: str = "", search: str = ""
) -> JSONResponse:
    """People, also by exact name."""
    async with services.database.read() as connection:
        found = await slice_of(connection, people(username, search), paging.number, paging.size)
        documents = await _shown(connection, caller, found.rows, services.settings.url)
    return paging.answer(documents, found.total)


@router.get("/users/{user_id}")
async def get_user(user_id: Id, caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """One person."""
    async with services.database.read() as connection:
        row = await accounts.get(connection, user_id)
        (document,) = await _shown(connection, caller, [row], services.settings.url)
    return document


async def _shown(connection: AsyncConnection, caller: Caller, rows: Sequence[Record], url: str) -> list[dict[str, Any]]:
    """People as a caller sees them: administrators see everything, and who they are at a provider."""
    if not caller.is_admin:
        return [person(row, url) for row in rows]
    known = await identities.of_people(connection, (row.id for row in rows))
    return [account(row, url, known.get(row.id, ())) for row in rows]
