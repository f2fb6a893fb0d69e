"""Signing in by user name and access token; signing out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form
from fastapi.responses import RedirectResponse, Response

from api.deps import CallerDep, ServicesDep
from api.pages.responses import page
from api.v4.origin import require_our_pages
from auth.permissions import NOBODY
from auth.secret_token import digest
from auth.session_token import COOKIE, LIFETIME, issue_session
from models.repositories import accounts

router = APIRouter(prefix="/users", dependencies=[Depends(require_our_pages)])


def inside(address: str) -> str:
    """The same address if it leads to one of our pages, else the first page."""
    plain = address.isascii() and address.isprintable() and "\\" not in address
    return address if plain and address.startswith("/") and not address.startswith("//") else "/"


@router.get("/sign_in")
async def form(caller: CallerDep, next: str = "/") -> Response:  # noqa: A002
    """The form; whoever is signed in goes on at once."""
    if caller.is_known:
        return RedirectResponse(inside(next), 303)
    return page("sign_in.html", NOBODY, next=inside(next), error="", username="")


@router.post("/sign_in")
async def sign_in(
    services: ServicesDep,
    username: Annotated[str, Form(max_length=255)] = "",
    token: Annotated[str, Form(max_length=255)] = "",
    next: Annotated[str, Form(max_length=2000)] = "/",  # noqa: A002
) -> Response:
    """Set the session cookie. The answer does not say which of the two was wrong."""
    async with services.database.read() as connection:
        row = await accounts.by_token(connection, digest(token.strip()))
    if row is None or row.username != username.strip():
        text = "That user name and access token do not belong together."
        return page("sign_in.html", NOBODY, 401, next=inside(next), error=text, username=username)
    answer = RedirectResponse(inside(next), 303)
    answer.set_cookie(
        COOKIE,
        issue_session(services.key, row.id, services.clock()),
        max_age=int(LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=services.settings.url.startswith("https:"),
    )
    return answer


@router.post("/sign_out")
async def sign_out() -> Response:
    """Forget the session."""
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return answer
