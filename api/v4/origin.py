"""Writes by a browser's session come from our own pages only.

The cookie is `SameSite=Lax`, but another port of the same host counts as the same site; so the origin is looked at too.
"""

from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request

from api.deps import ServicesDep
from api.pages.frame.form_tokens import FIELD, HEADER, is_ours
from api.shown_tokens import token_of
from domain.errors import Forbidden

_FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def _place(url: str) -> tuple[str, int] | None:
    """Host and port; None for what is no address (`Origin: null`, a port that is no number)."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None


def comes_from_our_pages(request: Request, url: str) -> bool:
    """Whether a browser says that one of our own pages sent this; `url` is the address that users see."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") == "same-origin"
    place = _place(origin)
    host = request.headers.get("host", "")
    return place is not None and place in {_place(url), _place(f"{urlsplit(origin).scheme}://{host}")}


async def require_our_pages(request: Request, services: ServicesDep) -> None:
    """Raise `Forbidden` for a form that another site sent, or that lacks the token of the page that it was on."""
    if request.method in _SAFE:
        return
    if not comes_from_our_pages(request, services.settings.url) or not await _shows_our_token(request):
        raise Forbidden("Forbidden: this form was not sent by a page of this server; open the page again.")


async def _shows_our_token(request: Request) -> bool:
    """Whether it does; who shows an access token proves more than that."""
    return bool(token_of(request)) or is_ours(await _shown_token(request))


async def _shown_token(request: Request) -> str:
    """What a form or a script of ours shows."""
    if shown := request.headers.get(HEADER):
        return shown
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in _FORMS:
        return ""
    with suppress(RuntimeError):  # FastAPI has read the form of this route, and keeps it
        await request.body()  # kept, so that the route can read it again
    field = (await request.form(max_files=0)).get(FIELD)
    return field if isinstance(field, str) else ""


async def require_token_or_our_pages(request: Request, services: ServicesDep) -> None:
    """The same for the REST API, where a token is proof enough and a call without a session needs none."""
    if request.cookies and not token_of(request):
        await require_our_pages(request, services)
