"""The page on which people make and revoke their own personal access tokens.

Source: GitLab: "Personal access tokens", "Create a personal access token", "Revoke a personal access token".
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Depends, Form, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from api.browser_visits import ARRIVALS
from api.deps import CallerDep, ServicesDep
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import NOTICES, page
from api.routes import RouteList
from api.services import Services
from api.v4.accounts.access_tokens import NewToken, make_personal
from api.v4.origin import require_our_pages
from api.v4.parameters import validated
from application.accounts.token_chains import revoke
from auth.permissions import Caller
from auth.scopes import Scope
from domain.errors import Invalid, NotFound
from models.repositories.accounts import access_tokens
from models.repositories.accounts.access_tokens import TokenFilter
from models.repositories.installation.audit import Entity
from models.repositories.paging import slice_of

TOKENS: Final = "/-/profile/personal_access_tokens"  # an address
_OF_VISITORS: Final = "/-/visits/{pod}/personal_access_tokens"
"""The same page of a pod that its reader visits: the other address leads to the tokens of their home."""
_PER_PAGE: Final = 20
_MEANINGS: Final = {
    Scope.API: "all that you may do",
    Scope.READ_API: "read all that you may see",
    Scope.READ_USER: "read who you are",
    Scope.READ_REPOSITORY: "fetch by git",
    Scope.WRITE_REPOSITORY: "fetch and push by git",
    Scope.READ_REGISTRY: "pull images",
    Scope.WRITE_REGISTRY: "push images",
    Scope.CREATE_RUNNER: "create runners",
    Scope.MANAGE_RUNNER: "change runners",
    Scope.SELF_ROTATE: "replace itself",
}
"""What a token of each scope may do, as the form says it."""

router = RouteList(dependencies=[Depends(require_our_pages)])

Number = Annotated[int, Query(ge=1, le=1_000_000)]
Name = Annotated[str, Form(max_length=255)]
Scopes = Annotated[tuple[str, ...], Form(max_length=len(Scope))]
Key = Annotated[int, Path(ge=1, le=2**53)]


async def _visited(pod: int, services: ServicesDep) -> None:
    """Raise `NotFound` for the number of another pod, and where there is one alone."""
    if services.cluster is None or pod != services.cluster.pod_number:
        raise NotFound("Not Found")


_VISITED: Final = Depends(_visited)


def _address(caller: Caller) -> str:
    """Where the tokens are that somebody has in this pod."""
    return TOKENS if caller.visited_pod is None else _OF_VISITORS.format(pod=caller.visited_pod)


def _sign_in(request: Request) -> Response:
    own = request.url.path if request.url.path.startswith(f"{ARRIVALS}/") else TOKENS
    return RedirectResponse(f"/users/sign_in?next={own}", 303)


_NOTHING: Final[Mapping[str, Any]] = {"error": "", "plain": "", "name": "", "expires_at": "", "chosen": ()}
"""What the form shows where nothing was made and nothing typed."""


async def _page(
    services: Services,
    caller: Caller,
    shown: Mapping[str, Any] = _NOTHING,
    status: int = 200,
    *,
    number: int = 1,
    notice: str = "",
) -> Response:
    """The form and the tokens that are good; `shown` tells of a new token, or what was wrong with what was typed."""
    wanted = TokenFilter(caller.user_id, state="active")
    async with services.database.read() as connection:
        found = await slice_of(connection, access_tokens.listed(wanted), number, _PER_PAGE)
    values = {
        **_NOTHING,
        **shown,
        "address": _address(caller),
        "meanings": _MEANINGS,
        "notice": notice,
        "tokens": found.rows,
        "number": number,
        "last": page_count(found.total, _PER_PAGE),
    }
    return page("accounts/access_tokens.html", caller, status, **values)


@router.get(_OF_VISITORS, dependencies=[_VISITED])
@router.get(TOKENS)
async def list_tokens(request: Request, caller: CallerDep, services: ServicesDep, page: Number = 1) -> Response:
    """The form, and the tokens that are good."""
    if not caller.is_known:
        return _sign_in(request)
    notice = NOTICES.get(request.query_params.get("notice", ""), "")
    return await _page(services, caller, number=page, notice=notice)


@router.post(_OF_VISITORS, dependencies=[_VISITED])
@router.post(TOKENS)
async def make_token(
    request: Request,
    caller: CallerDep,
    services: ServicesDep,
    name: Name = "",
    expires_at: Name = "",
    scopes: Scopes = (),
) -> Response:
    """Make a token; this response is the only one that shows it."""
    if not caller.is_known:
        return _sign_in(request)
    ends = {"expires_at": expires_at} if expires_at else {}
    try:
        new = validated(NewToken, {"name": name, "scopes": list(scopes), **ends})
        made = await make_personal(services, caller, caller.user_id, new)
    except Invalid as error:
        typed = {"name": name, "expires_at": expires_at, "chosen": scopes}
        return await _page(services, caller, {**typed, "error": f"{error} No token was made."}, 400)
    return await _page(services, caller, {"plain": made["token"]}, 201)


@router.post(_OF_VISITORS + "/{token_id}/revoke", dependencies=[_VISITED])
@router.post(TOKENS + "/{token_id}/revoke")
async def revoke_token(request: Request, token_id: Key, caller: CallerDep, services: ServicesDep) -> Response:
    """Revoke one of one's own tokens: it opens nothing from now on."""
    if not caller.is_known:
        return _sign_in(request)
    async with services.database.write() as connection:
        row = await access_tokens.get(connection, token_id, TokenFilter(caller.user_id))
        await revoke(connection, caller, row, Entity("user", row.user_id, ""), services.clock())
    return RedirectResponse(f"{_address(caller)}?notice=revoked", 303)
