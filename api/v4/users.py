"""People and their access tokens."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.v4.access import Id, KnownCallerDep
from api.v4.names import TopPathName
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.moments import moment
from api.v4.representation.people import account, person
from auth.permissions import require_admin
from auth.secret_token import PERSONAL, digest, plain_token
from domain.errors import Invalid
from models.repositories import accounts
from models.repositories.listings import people
from models.repositories.paging import slice_of

_SCOPE: Final = "api"

router = APIRouter()


class NewUser(BaseModel):
    """Parameters of `POST /users`."""

    username: TopPathName
    name: str = Field(min_length=1, max_length=255)
    email: str = Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=255)
    admin: bool = False


class NewToken(BaseModel):
    """Parameters of `POST /users/:id/personal_access_tokens`."""

    name: str = Field(min_length=1, max_length=255)
    scopes: list[str] = [_SCOPE]
    expires_at: str | None = None


@router.get("/user")
async def current_user(caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """Who I am."""
    async with services.database.read() as connection:
        return account(await accounts.get(connection, caller.user_id), services.settings.url)


@router.get("/users")
async def list_users(
    caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, username: str = "", search: str = ""
) -> JSONResponse:
    """People, also by exact name."""
    async with services.database.read() as connection:
        found = await slice_of(connection, people(username, search), paging.number, paging.size)
    show = account if caller.is_admin else person
    return paging.answer([show(row, services.settings.url) for row in found.rows], found.total)


@router.get("/users/{user_id}")
async def get_user(user_id: Id, caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """One person."""
    async with services.database.read() as connection:
        row = await accounts.get(connection, user_id)
    return (account if caller.is_admin else person)(row, services.settings.url)


@router.post("/users", status_code=201)
async def create_user(
    new: Annotated[NewUser, Depends(given(NewUser))], caller: KnownCallerDep, services: ServicesDep
) -> dict[str, Any]:
    """Add a person; only administrators may."""
    require_admin(caller)
    async with services.database.write() as connection:
        user_id = await accounts.create_user(
            connection, new.username, new.name, new.email, services.clock(), is_admin=new.admin
        )
        return account(await accounts.get(connection, user_id), services.settings.url)


@router.post("/users/{user_id}/personal_access_tokens", status_code=201)
async def create_token(
    user_id: Id, new: Annotated[NewToken, Depends(given(NewToken))], caller: KnownCallerDep, services: ServicesDep
) -> dict[str, Any]:
    """Make an access token of a person; it is shown only in this answer. Only administrators may."""
    require_admin(caller)
    _check_limits(new)
    token, now = plain_token(PERSONAL), services.clock()
    async with services.database.write() as connection:
        await accounts.get(connection, user_id)
        token_id = await accounts.add_token(connection, user_id, new.name, digest(token), now)
    return {
        "id": token_id,
        "name": new.name,
        "revoked": False,
        "active": True,
        "created_at": moment(now),
        "scopes": [_SCOPE],
        "user_id": user_id,
        "last_used_at": None,
        "expires_at": None,
        "token": token,
    }


def _check_limits(new: NewToken) -> None:
    """A token must never be able to do more, or for longer, than was asked for."""
    if _SCOPE not in new.scopes:
        raise Invalid(f"scopes does not have a valid value: tokens have the scope {_SCOPE}; none can be narrower.")
    if new.expires_at is not None:
        raise Invalid("expires_at does not have a valid value: tokens do not expire; leave it out.")
