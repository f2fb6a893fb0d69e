"""The runner protocol as a table of calls.

These calls are nine of ten that a server gets, and need nothing of what a framework offers for others: they are
answered before it sees them. What is left of their paths, such as another method, is the framework's.

Source: docs/reference/runner-protocol.md, "Registration", "Job request", "Job updates", "Log upload", "Artifacts and
cache".
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from fastapi import Request
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import answer_to, on_surprise
from api.runner import artifacts, job_requests, registration, traces, updates
from api.services import Services
from domain.errors import Forbidden, PerdureError

Endpoint = Callable[..., Awaitable[Response]]

_API: Final = "/api/v4"
_CALLS: Final[tuple[tuple[str, str, Endpoint], ...]] = (
    ("POST", "/jobs/request", job_requests.request_job),
    ("PUT", "/jobs/{job_id:int}", updates.update_job),
    ("PATCH", "/jobs/{job_id:int}/trace", traces.append_trace),
    ("POST", "/jobs/{job_id:int}/artifacts/authorize", artifacts.authorize),
    ("POST", "/jobs/{job_id:int}/artifacts", artifacts.upload),
    ("GET", "/jobs/{job_id:int}/artifacts", artifacts.download),
    ("POST", "/runners/verify", registration.verify),
    ("POST", "/runners/reset_authentication_token", registration.reset_token),
    ("GET", "/runners/router/discovery", registration.discover_router),
    ("DELETE", "/runners/managers", registration.unregister_manager),
    ("POST", "/runners", registration.register),
    ("DELETE", "/runners", registration.unregister),
)
_JOB: Final = "/jobs/{job_id:int}"
_FIXED: Final[Mapping[tuple[str, str], Endpoint]] = {
    (method, f"{_API}{path}"): endpoint for method, path, endpoint in _CALLS if not path.startswith(_JOB)
}
_OF_A_JOB: Final[Mapping[tuple[str, str], Endpoint]] = {
    (method, path.removeprefix(_JOB)): endpoint for method, path, endpoint in _CALLS if path.startswith(_JOB)
}
_JOB_PATH: Final = re.compile(rf"{_API}/jobs/([0-9]{{1,18}})(/[a-z/]+)?")


class RunnerProtocol:
    """Answers the calls of runners, and hands all others on."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        """`app` answers all others."""
        self._app = app
        self._services = services
        self._guarded = ServerErrorMiddleware(self._answer, on_surprise)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        found = _endpoint_of(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        scope["endpoint"], scope["path_params"] = found
        await self._guarded(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await scope["endpoint"](**request.path_params, request=request, services=self._services)
        except PerdureError as error:
            response = answer_to(error)
        await response(scope, receive, send)


def _endpoint_of(method: str, path: str) -> tuple[Endpoint, dict[str, Any]] | None:
    method = "GET" if method == "HEAD" else method
    endpoint = _FIXED.get((method, path))
    if endpoint is not None:
        return endpoint, {}
    named = _JOB_PATH.fullmatch(path)
    if named is None:
        return None
    endpoint = _OF_A_JOB.get((method, named[2] or ""))
    return None if endpoint is None else (endpoint, {"job_id": int(named[1])})


def routes() -> list[Route]:
    """The same for a framework, which knows by them what else there is: it refuses other methods of these paths."""
    return [Route(f"{_API}{path}", _refuse, methods=[method]) for method, path, _ in _CALLS]


async def _refuse(_request: Request) -> Response:
    raise Forbidden("Forbidden: no job has such an id.")
