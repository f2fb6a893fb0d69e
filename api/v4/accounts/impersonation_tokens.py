"""Tokens by which administrators act as somebody else, whom they neither ask nor tell.

Whoever holds one may do what that person may. Only administrators make, see and revoke them: nobody can make a token
above their own level so.
"""

from typing import Annotated, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, KnownCallerDep
from api.v4.accounts.access_tokens import AccessTokenResponse, NewToken, make_personal, shown
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from application.accounts.token_chains import revoke
from auth.permissions import Caller, require_admin
from models.repositories.accounts import access_tokens, accounts
from models.repositories.accounts.access_tokens import TokenFilter
from models.repositories.installation.audit import Entity
from models.repositories.paging import slice_of

router = RouteList(prefix="/users/{user_id}/impersonation_tokens")

_STATES = {"all": "", "active": "active", "inactive": "inactive"}


async def administrator(caller: KnownCallerDep) -> Caller:
    """The caller, who must administer the installation."""
    require_admin(caller)
    return caller


AdministratorDep = Annotated[Caller, Depends(administrator)]


@router.get("", response_model=list[AccessTokenResponse])
async def list_impersonation_tokens(
    user_id: Id,
    _caller: AdministratorDep,
    services: ServicesDep,
    paging: PagingDep,
    state: Literal["all", "active", "inactive"] = "all",
) -> JSONResponse:
    """The tokens by which somebody is impersonated. GitLab: "User tokens API", "List all impersonation tokens"."""
    wanted = TokenFilter(user_id, state=_STATES[state], impersonation=True)
    async with services.database.read() as connection:
        await accounts.get(connection, user_id)
        found = await slice_of(connection, access_tokens.listed(wanted), paging.number, paging.size)
    return paging.response([shown(row) for row in found.rows], found.total)


@router.post("", status_code=201)
async def create_impersonation_token(
    user_id: Id, new: Annotated[NewToken, Depends(given(NewToken))], caller: AdministratorDep, services: ServicesDep
) -> AccessTokenResponse:
    """Make a token that acts as somebody; it is shown only in this response."""
    return await make_personal(services, caller, user_id, new, impersonation=True)


@router.get("/{token_id}")
async def get_impersonation_token(
    user_id: Id, token_id: Id, _caller: AdministratorDep, services: ServicesDep
) -> AccessTokenResponse:
    """One of them."""
    async with services.database.read() as connection:
        return shown(await access_tokens.get(connection, token_id, TokenFilter(user_id, impersonation=True)))


@router.delete("/{token_id}", status_code=204)
async def revoke_impersonation_token(
    user_id: Id, token_id: Id, caller: AdministratorDep, services: ServicesDep
) -> Response:
    """Revoke one."""
    async with services.database.write() as connection:
        row = await access_tokens.get(connection, token_id, TokenFilter(user_id, impersonation=True))
        await revoke(connection, caller, row, Entity("user", user_id, ""), services.clock())
    return Response(status_code=204)
