"""The runner protocol as a table of routes (reference: runner protocol, sections 2 to 6).

These calls are nine of ten that a server gets, and need nothing of what a framework offers for others: they are plain
Starlette routes, matched first. Fixed paths come before those with an id.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from fastapi import Request
from starlette.responses import Response
from starlette.routing import Route

from api.runner import artifacts, registration, requests, traces, updates
from api.services import Services

Endpoint = Callable[..., Awaitable[Response]]

_CALLS: Final[tuple[tuple[str, str, Endpoint], ...]] = (
    ("POST", "/jobs/request", requests.request_job),
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


def routes() -> list[Route]:
    """The routes, in the order in which they are matched."""
    return [Route(f"/api/v4{path}", _endpoint(call), methods=[method]) for method, path, call in _CALLS]


def _endpoint(call: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        services: Services = request.app.state.services
        given: dict[str, Any] = request.path_params
        return await call(**given, request=request, services=services)

    return endpoint
