"""The one place where errors become HTTP.

Source: docs/reference/runner-protocol.md, "Every call": `message` is what runners show.
"""

from typing import Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from api.rate_limits import rate_headers
from api.refused_secrets import refused_call
from api.v4.not_served import NO_ROUTE, why_not_served
from domain.errors import (
    ConfigInvalid,
    FieldsInvalid,
    Forbidden,
    Invalid,
    JobNotRunning,
    NotAllowed,
    NotFound,
    OutOfOrder,
    ParametersInvalid,
    PerdureError,
    Refused,
    StorageFull,
    TooLarge,
    TooMany,
    TraceMismatch,
    Unauthenticated,
    Unavailable,
    Unmergeable,
    Unprocessable,
)

STATUS_OF: Final[tuple[tuple[type[PerdureError], int], ...]] = (
    (JobNotRunning, 403),
    (Forbidden, 403),
    (NotFound, 404),
    (Unauthenticated, 401),
    (NotAllowed, 405),
    (Unmergeable, 422),
    (Refused, 409),
    (Unprocessable, 422),
    (Invalid, 400),
    (TooLarge, 413),
    (OutOfOrder, 416),
    (TraceMismatch, 412),
    (TooMany, 429),
    (StorageFull, 503),
    (Unavailable, 503),
)
"""First match wins. No room left is 503 and not 507, because runners try again after a 503."""

_NAMES: Final = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    405: "Method Not Allowed",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Request Entity Too Large",
}
"""GitLab's names of statuses, with which its messages begin (`lib/api/helpers.rb`, "error helpers")."""

_FULL_RETRY: Final = 30

log = structlog.get_logger()


def status_of(error: PerdureError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in STATUS_OF if isinstance(error, kind)), 500)


def headers_of(error: PerdureError) -> dict[str, str]:
    """What else the caller must know to go on."""
    if isinstance(error, JobNotRunning):
        return {"Job-Status": error.status}
    if isinstance(error, OutOfOrder):
        return {"Range": f"0-{error.size}", "Job-Status": error.status}
    if isinstance(error, TooMany):
        return rate_headers(error.name, error.limit, error.observed, error.reset_in, error.resets_at)
    if isinstance(error, Unavailable):
        return {"Retry-After": str(error.retry_after)}
    if isinstance(error, StorageFull):
        return {"Retry-After": str(_FULL_RETRY)}
    return {}


def text_of(error: PerdureError) -> str:
    """The words of an error, after its status where they begin with HTTP's name of that, as in GitLab's responses."""
    text, status = str(error), status_of(error)
    return f"{status} {text}" if _is_named(error, text, status) else text


def _is_named(error: PerdureError, text: str, status: int) -> bool:
    """Whether words name their status; of what is not there they name the thing (`Job Not Found`) or are a sentence."""
    if isinstance(error, NotFound):
        return "not found" in text.lower() or not text.endswith(".")
    return text.startswith(_NAMES.get(status, "-"))


def _body(error: PerdureError) -> dict[str, object]:
    if isinstance(error, ConfigInvalid):
        return {"message": {"base": [str(issue) for issue in error.issues]}}
    if isinstance(error, FieldsInvalid):
        return {"message": {name: [fault] for name, fault in error.faults.items()}}
    if isinstance(error, TooMany):
        return {"message": {"error": str(error)}}
    if isinstance(error, ParametersInvalid | Unprocessable):
        return {"message": text_of(error), "error": str(error)}  # GitLab says it under `error` alone
    return {"message": text_of(error)}


def answer_to(error: PerdureError) -> JSONResponse:
    """What the caller is told."""
    return JSONResponse(_body(error), status_of(error), headers_of(error))


async def _on_perdure_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PerdureError)
    if isinstance(error, Unauthenticated):
        error = Unauthenticated(refused_call(request, str(error)))
    return answer_to(error)


async def _on_bad_request(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = ", ".join(f"{'.'.join(str(part) for part in fault['loc'][1:])} {fault['msg']}" for fault in error.errors())
    return JSONResponse({"message": f"400 Bad request: {faults}", "error": faults}, 400)


async def _on_http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    document = {"message": f"{error.status_code} {error.detail}"}
    if error.status_code == NO_ROUTE:
        document |= why_not_served(request.scope["path"])
    return JSONResponse(document, error.status_code, error.headers)


async def on_surprise(request: Request, error: Exception) -> JSONResponse:
    """Write what nobody foresaw into the log; the caller is told that it was our fault."""
    log.error("a request failed", path=request.url.path, method=request.method, exc_info=error)
    return JSONResponse({"message": "500 Internal Server Error"}, 500)


def add_error_handlers(app: FastAPI) -> None:
    """Map every error once."""
    app.add_exception_handler(PerdureError, _on_perdure_error)
    app.add_exception_handler(RequestValidationError, _on_bad_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, on_surprise)
