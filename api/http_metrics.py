"""Counting of requests, around everything that answers them. Of paths only a few kinds are told, never a name."""

import time
from typing import Final

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metrics.server_metrics import ServerMetrics

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GIT: Final = (".git/info/refs", ".git/git-upload-pack", ".git/git-receive-pack")
_HEALTH: Final = frozenset({"/-/health", "/-/liveness", "/-/ready", "/-/readiness"})
_NO_ANSWER: Final = "499"
"""Whose client was gone before there was one."""


class HttpMetrics:
    """Middleware that counts requests and their time."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        """`app` answers."""
        self._app = app
        self._requests = metrics.http_requests
        self._duration = metrics.http_duration
        self._known: dict[tuple[str, str, str], tuple[Counter, Histogram]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), _NO_ANSWER

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            requests, duration = self._of(method, kind_of(scope["path"]), status)
            requests.inc()
            duration.observe(time.perf_counter() - begun)

    def _of(self, method: str, kind: str, status: str) -> tuple[Counter, Histogram]:
        """Kept, since to look them up by their labels takes longer than to count; there are few."""
        key = (method, kind, status)
        if key not in self._known:
            self._known[key] = self._requests.labels(*key), self._duration.labels(method, kind)
        return self._known[key]


def kind_of(path: str) -> str:
    """What a path is for: `poll`, `log`, `artifacts`, `update`, `runners`, `api`, `git`, `health` or `page`."""
    if path.startswith("/api/v4/jobs/"):
        if path == "/api/v4/jobs/request":
            return "poll"
        if path.endswith("/trace"):
            return "log"
        return "artifacts" if "/artifacts" in path else "update"
    if path.startswith("/api/"):
        return "runners" if path.startswith("/api/v4/runners") else "api"
    if path.endswith(_GIT):
        return "git"
    return "health" if path in _HEALTH else "page"
