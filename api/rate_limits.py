"""How many calls of the REST API somebody may make in a minute, with GitLab's headers. Each process counts for itself.

Runners are not counted: their calls are answered ahead of this, and a 429 would make them slow (reference: runner
protocol). Git is neither.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http import HTTPStatus
from typing import Final

from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.refusals import address_of
from settings import RateLimits

WINDOW: Final = 60.0
"""Seconds in which calls are counted."""
_REMEMBERED: Final = 20_000
_PREFIX: Final = "/api/v4/"
_TOKENS: Final = (b"private-token", b"job-token", b"authorization", b"cookie")
_AUTHENTICATED: Final = "throttle_authenticated_api"
_OWN: Final = b"ratelimit-name"
_UNAUTHENTICATED: Final = "throttle_unauthenticated_api"


@dataclass(slots=True)
class _Count:
    """The calls of a window that began at a moment (monotonic seconds)."""

    began: float
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How somebody stands after a call."""

    name: str
    limit: int
    observed: int
    reset_in: float

    @property
    def is_over(self) -> bool:
        """Whether the call was one too many."""
        return self.observed > self.limit

    def headers(self, now: datetime) -> list[tuple[bytes, bytes]]:
        """GitLab's headers."""
        resets_at = now + timedelta(seconds=self.reset_in)
        values = rate_headers(self.name, self.limit, self.observed, self.reset_in, resets_at)
        return [(name.lower().encode(), value.encode()) for name, value in values.items()]


def rate_headers(name: str, limit: int, observed: int, reset_in: float, resets_at: datetime) -> dict[str, str]:
    """GitLab's headers of a limit; `Retry-After` only where it is passed."""
    values = {
        "RateLimit-Limit": limit,
        "RateLimit-Name": name,
        "RateLimit-Observed": observed,
        "RateLimit-Remaining": max(0, limit - observed),
        "RateLimit-Reset": int(resets_at.timestamp()),
        "RateLimit-ResetTime": format_datetime(resets_at.astimezone(UTC), usegmt=True),
        **({"Retry-After": max(1, round(reset_in))} if observed > limit else {}),
    }
    return {name: str(value) for name, value in values.items()}


class Windows:
    """Counts things by key in windows of a minute, of which it remembers the newest."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` gives monotonic seconds."""
        self._clock = clock
        self._counts: OrderedDict[bytes, _Count] = OrderedDict()

    def note(self, key: bytes) -> tuple[int, float]:
        """Count one more; how many there are in the window, and in how many seconds it ends."""
        now = self._clock()
        count = self._counts.pop(key, None)
        if count is None or now - count.began >= WINDOW:
            count = _Count(now)
        self._counts[key] = count
        if len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)
        count.calls += 1
        return count.calls, count.began + WINDOW - now


class Throttle:
    """Counts the calls of everybody."""

    def __init__(self, limits: RateLimits, clock: Callable[[], float] = time.monotonic) -> None:
        """Take how many calls a minute may hold; `clock` gives monotonic seconds."""
        self._limits = limits
        self._windows = Windows(clock)

    def note(self, shown: bytes, host: str) -> Standing | None:
        """Count a call that shows `shown` (a token or session, empty for none); None where nothing is limited."""
        limit = self._limits.api_calls if shown else self._limits.anonymous_api_calls
        if not limit:
            return None
        key = hashlib.sha256(shown).digest() if shown else address_of(host)
        observed, reset_in = self._windows.note(key)
        return Standing(_AUTHENTICATED if shown else _UNAUTHENTICATED, limit, observed, reset_in)


class RateLimited:
    """Middleware that counts calls of the REST API and refuses those that are too many."""

    def __init__(self, app: ASGIApp, throttle: Throttle, clock: Callable[[], datetime]) -> None:
        """`app` answers."""
        self._app = app
        self._throttle = throttle
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on with the headers of its standing, or answer 429."""
        standing = self._standing(scope)
        if standing is None:
            await self._app(scope, receive, send)
            return
        more = standing.headers(self._clock())
        if standing.is_over:
            headers = {name.decode(): value.decode() for name, value in more}
            answer = PlainTextResponse("Retry later\n", HTTPStatus.TOO_MANY_REQUESTS, headers)
            await answer(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = list(message.get("headers", ()))
                has_own = any(name.lower() == _OWN for name, _ in said)  # a limit of what was done, which was passed
                message["headers"] = said if has_own else [*said, *more]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _standing(self, scope: Scope) -> Standing | None:
        if scope["type"] != "http" or not scope["path"].startswith(_PREFIX):
            return None
        headers = dict(reversed(scope["headers"]))
        shown = next((headers[name] for name in _TOKENS if headers.get(name)), b"")
        if not shown and b"private_token=" in scope["query_string"]:
            shown = scope["query_string"].partition(b"private_token=")[2].partition(b"&")[0]
        client = scope.get("client")
        return self._throttle.note(shown, client[0] if client else "")
