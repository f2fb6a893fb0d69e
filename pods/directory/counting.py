"""Counts the requests of a directory and their time, around everything that answers them."""

from typing import Final

from starlette.types import ASGIApp, Scope

from metrics.directory_metrics import DirectoryMetrics
from metrics.timed_requests import TimedRequests

OTHER: Final = "other"
"""The call of a request that is none of the directory's, or that was refused unread."""


class Counting(TimedRequests):
    """An ASGI application around another one, which routes by FastAPI."""

    def __init__(self, app: ASGIApp, metrics: DirectoryMetrics) -> None:
        """`app` answers."""
        super().__init__(app, self._count)
        self._metrics = metrics

    def _count(self, scope: Scope, status: str, seconds: float) -> None:
        self._metrics.answered(_call(scope), status, seconds)


def _call(scope: Scope) -> str:
    """Method and path as the route has them, such as `PUT /v1/claims/{claim_id}`: no names and no ids."""
    route = scope.get("route")
    return OTHER if route is None else f"{scope['method']} {route.path}"
