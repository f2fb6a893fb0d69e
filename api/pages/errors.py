"""Errors as pages with words, for those who read them in a browser; everybody else gets the same as JSON."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from api.errors import answer_to, headers_of, status_of
from api.pages.responses import page
from auth.permissions import NOBODY
from domain.errors import PerdureError

Handler: TypeAlias = Callable[[Request, Exception], Awaitable[Response]]

WORDS: Final = {
    400: ("That request makes no sense", "Something in the address or the form is wrong."),
    401: ("Please sign in", "This needs an account; sign in and try again."),
    403: ("Not permitted", "Your account may not do this. A maintainer of the project can."),
    404: ("There is nothing here", "The address is wrong, or it is private and you are not signed in."),
    405: ("Not that way", "This address answers forms, not visits."),
    409: ("That cannot be done now", "Things have changed meanwhile; go back and look again."),
    413: ("Too large", "What was sent is larger than the limit."),
    429: ("Too often", "That was asked for too many times in a minute; wait a little."),
    500: ("Something broke", "It was our fault and is in the log of the server. Nothing was lost; try again."),
    503: ("Back in a moment", "A part of the server is away; nothing was lost. Reload the page in a few seconds."),
}


def add_page_errors(app: FastAPI) -> None:
    """Put pages before the JSON handlers that `app` already has."""
    for kind in (PerdureError, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _or_page(app.exception_handlers[kind]))


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page: neither the API nor git, and HTML is welcome."""
    path = request.url.path
    if path.startswith("/api/") or ".git/" in path or path.endswith("/events"):
        return False
    return "text/html" in request.headers.get("accept", "")


def refusal_or_page(request: Request, error: PerdureError) -> Response:
    """The answer to a request that no route gets."""
    return error_page(status_of(error), str(error), headers_of(error)) if wants_page(request) else answer_to(error)


def _or_page(json: Any) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        if not wants_page(request):
            answer: Response = await json(request, error)
            return answer
        if isinstance(error, PerdureError):
            return error_page(status_of(error), str(error), headers_of(error))
        if isinstance(error, HTTPException):
            return error_page(error.status_code, "", dict(error.headers or {}))
        if isinstance(error, RequestValidationError):
            return error_page(404)
        answer = await json(request, error)  # it writes the surprise into the log
        return error_page(answer.status_code)

    return handle


def error_page(status: int, detail: str = "", headers: dict[str, str] | None = None) -> Response:
    """An error in words."""
    title, text = WORDS.get(status, WORDS[500 if status >= 500 else 400])
    detail = "" if detail in {title, f"{status} Not Found", f"{status} Unauthorized"} else detail
    answer = page("error.html", NOBODY, status, title=title, text=text, detail=detail, code=status)
    answer.headers.update(headers or {})
    return answer
