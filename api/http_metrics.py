"""Counting of requests, around everything that answers them. Of paths only a few kinds are told, never a name."""

from typing import Final

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Scope

from metrics.server_metrics import ServerMetrics
from metrics.timed_requests import TimedRequests

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GIT: Final = (".git/info/refs", ".git/git-upload-pack", ".git/git-receive-pack")
_HEALTH: Final = frozenset({"/-/health", "/-/liveness", "/-/ready", "/-/readiness"})


class HttpMetrics(TimedRequests):
    """Middleware that counts requests and their time."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        """`app` answers."""
        super().__init__(app, self._count)
        self._requests = metrics.http_requests
        self._duration = metrics.http_duration
        self._known: dict[tuple[str, str, str], tuple[Counter, Histogram]] = {}

    def _count(self, scope: Scope, status: str, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        requests, duration = self._of(method, kind_of(scope["path"]), status)
        requests.inc()
        duration.observe(seconds)

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
