"""Signing in by user name or e-mail address, and password or access token; signing out."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from api.browser_visits import pod_elsewhere, way_to
from api.deps import CallerDep, ServicesDep, key_of
from api.pages.accounts.sessions import forget_sessions, sign_in_as
from api.pages.frame.responses import page
from api.routes import RouteList
from api.services import Services
from api.shown_tokens import session_of
from api.v4.origin import require_our_pages
from application.accounts.proof_of_identity import proven
from auth.permissions import NOBODY
from auth.session_token import read_session
from domain.errors import Unauthenticated
from models.repositories.accounts import sessions

SIGN_OUT: Final = "/users/sign_out"
MAX_NEXT: Final = 2000
"""Characters of an address that a sign-in leads back to."""
_REFUSED: Final = "That name and that password or access token do not belong together."

router = RouteList(prefix="/users", dependencies=[Depends(require_our_pages)])


def inside(address: str) -> str:
    """The same address if it leads to one of our pages and is not too long, else the first page."""
    plain = address.isascii() and address.isprintable() and "\\" not in address
    plain = plain and len(address) <= MAX_NEXT
    return address if plain and address.startswith("/") and not address.startswith("//") else "/"


def sign_in_page(
    services: Services, status: int = 200, *, then: str = "/", error: str = "", notice: str = "", name: str = ""
) -> Response:
    """The form, with what went wrong; `then` is where it leads to."""
    provider = services.settings.oidc.label if services.oidc is not None else ""
    values = {"next": inside(then), "error": error, "notice": notice, "username": name, "provider": provider}
    return page("accounts/sign_in.html", NOBODY, status, **values)


@router.get("/sign_in")
async def form(caller: CallerDep, services: ServicesDep, next: str = "/") -> Response:  # noqa: A002
    """The form; whoever is signed in goes on at once, to another pod with a ticket."""
    elsewhere = pod_elsewhere(services, inside(next))
    if caller.is_known and elsewhere is None:
        return RedirectResponse(inside(next), 303)
    if caller.is_known and elsewhere is not None and not caller.is_visitor:
        return RedirectResponse(way_to(elsewhere, inside(next)), 303)
    return sign_in_page(services, then=next)


@router.post("/sign_in")
async def sign_in(
    request: Request,
    services: ServicesDep,
    username: Annotated[str, Form(max_length=255)] = "",
    password: Annotated[str, Form(max_length=255)] = "",
    next: Annotated[str, Form(max_length=MAX_NEXT)] = "/",  # noqa: A002
) -> Response:
    """Set the session cookie. Every refusal is the same, and takes the same time."""
    found = await proven(services, key_of(request, NOBODY), username.strip(), password)
    if found is None:
        return sign_in_page(services, 401, then=next, error=_REFUSED, name=username)
    response = RedirectResponse(inside(next), 303)
    await sign_in_as(response, services, found.row, token_id=found.token_id)
    return response


@router.post("/sign_out")
async def sign_out(request: Request, services: ServicesDep) -> Response:
    """End the session: the browser forgets it, and whoever has copied it gains nothing.

    A browser that is signed in at further pods sends the same form again, which the router leads to the next of them.
    """
    try:
        found = read_session(services.key, session_of(request))
    except Unauthenticated:
        pass
    else:
        async with services.database.write() as connection:
            await sessions.end(connection, found.session_id, found.expires_at, services.clock())
    response = RedirectResponse("/", 303)
    if forget_sessions(request, response, services):
        response.status_code = HTTPStatus.TEMPORARY_REDIRECT
        response.headers["location"] = SIGN_OUT
    return response
