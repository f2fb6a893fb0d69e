"""Errors as pages with words, for those who read them in a browser; everybody else gets the same as JSON."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from starlette.exceptions import HTTPException

from api.browser_visits import is_deep_link, wants_page, way_home
from api.deps import shown_caller
from api.errors import answer_to, headers_of, status_of
from api.pages.accounts.sign_in import sign_in_page
from api.pages.frame.responses import address_of_page, page
from api.services import Services
from auth.permissions import NOBODY, Caller
from domain.errors import PerdureError

Handler: TypeAlias = Callable[[Request, Exception], Awaitable[Response]]

WORDS: Final = {
    400: ("That request makes no sense", "Something in the address or the form is wrong."),
    401: ("Please sign in", "This needs an account; sign in and try again."),
    403: ("Not permitted", "Your account may not do this. A maintainer of the project can."),
    404: ("There is nothing here", "The address is wrong, or it is private and not open to your account."),
    405: ("Not that way", "This address answers forms, not visits."),
    409: ("That cannot be done now", "Things have changed meanwhile; go back and look again."),
    413: ("Too large", "What was sent is larger than the limit."),
    429: ("Too often", "That was asked for too many times in a minute; wait a little."),
    500: ("Something broke", "It was our fault and is in the log of the server. Nothing was lost; try again."),
    503: ("Back in a moment", "A part of the server is away; nothing was lost. Reload the page in a few seconds."),
}


_HIDDEN: Final = frozenset({401, 404})
"""What somebody who is not signed in may find there after all."""
_SIGN_IN: Final = "There is nothing here for people who are not signed in. If the address is right, sign in to see it."
_PATIENCE: Final = 2.0
"""Seconds that an error page waits to hear who is signed in."""

log = structlog.get_logger()


def add_page_errors(app: FastAPI) -> None:
    """Put pages before the JSON handlers that `app` already has."""
    for kind in (PerdureError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _or_page(app.exception_handlers[kind]))


def refusal_or_page(request: Request, error: PerdureError) -> Response:
    """The response to a request that no route gets."""
    return error_page(status_of(error), str(error), headers_of(error)) if wants_page(request) else answer_to(error)


def _or_page(json: Any) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        if not wants_page(request):
            response: Response = await json(request, error)
            return response
        caller = await _signed_in(request)
        if isinstance(error, PerdureError):
            status, detail, headers = status_of(error), str(error), headers_of(error)
        elif isinstance(error, HTTPException):
            status, detail, headers = error.status_code, "", dict(error.headers or {})
        elif isinstance(error, RequestValidationError):
            status, detail, headers = 404, "", {}
        else:
            response = await json(request, error)  # it writes the surprise into the log
            status, detail, headers = response.status_code, "", {}
        if status in _HIDDEN and not caller.is_known and is_deep_link(request):
            services: Services = request.app.state.services
            if home := way_home(request, services):
                return RedirectResponse(home, 303)
            return sign_in_page(services, status, then=address_of_page(request), notice=_SIGN_IN)
        return error_page(status, detail, headers, caller)

    return handle


async def _signed_in(request: Request) -> Caller:
    """Who is signed in; nobody if that cannot be found out now: an error page must not fail itself."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await shown_caller(request, request.app.state.services)
    except (PerdureError, TimeoutError):
        return NOBODY
    except Exception:
        log.exception("an error page does not know who is signed in")
        return NOBODY


def error_page(
    status: int, detail: str = "", headers: dict[str, str] | None = None, caller: Caller = NOBODY
) -> Response:
    """An error in words, below who is signed in."""
    title, text = WORDS.get(status, WORDS[500 if status >= 500 else 400])
    detail = "" if detail in {title, "Not Found", "Unauthorized"} else detail
    response = page("frame/error.html", caller, status, title=title, text=text, detail=detail, code=status)
    response.headers.update(headers or {})
    return response
