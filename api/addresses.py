"""Addresses of requests that nothing here could mean: they are refused before anybody reads them.

PostgreSQL keeps no NUL in a text and git ends its arguments there, so that a NUL never names something; and no path
that means something is as long as `MAX_PATH`.
"""

from http import HTTPStatus
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

MAX_PATH: Final = 4096
"""Characters of a decoded path; a file of a repository may have as many on Linux (limits.h, `PATH_MAX`)."""
_NUL: Final = b"%00"


class ReadableAddresses:
    """Middleware that answers such requests with 400 and 414."""

    def __init__(self, app: ASGIApp) -> None:
        """`app` answers all others."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        refusal = _refusal(scope) if scope["type"] == "http" else None
        await (self._app if refusal is None else refusal)(scope, receive, send)


def _refusal(scope: Scope) -> JSONResponse | None:
    path: str = scope["path"]
    if len(path) > MAX_PATH:
        text = f"414 URI Too Long: the path has {len(path)} characters, and may have {MAX_PATH}."
        return JSONResponse({"message": text}, HTTPStatus.REQUEST_URI_TOO_LONG)
    raw: bytes = scope.get("raw_path") or b""
    if "\0" in path or _NUL in raw or _NUL in scope["query_string"]:
        text = "400 Bad request: the address has a NUL character (%00), which no name has; leave it out."
        return JSONResponse({"message": text}, HTTPStatus.BAD_REQUEST)
    return None
