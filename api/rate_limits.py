"""How many calls of the REST API somebody may make in a minute, with GitLab's headers. Each process counts for itself.

Runners are not counted: their calls are answered ahead of this, and a 429 would make them slow (reference: runner
protocol). Git is neither.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
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
        reset = now.timestamp() + self.reset_in
        moment = format_datetime(datetime.fromtimestamp(reset, UTC), usegmt=True)
        values = {
            "RateLimit-Limit": self.limit,
            "RateLimit-Name": self.name,
            "RateLimit-Observed": self.observed,
            "RateLimit-Remaining": max(0, self.limit - self.observed),
            "RateLimit-Reset": int(reset),
            "RateLimit-ResetTime": moment,
            **({"Retry-After": max(1, round(self.reset_in))} if self.is_over else {}),
        }
        return [(name.lower().encode(), str(value).encode()) for name, value in values.items()]


class Throttle:
    """Counts the calls of everybody in windows of a minute."""

    def __init__(self, limits: RateLimits, clock: Callable[[], float] = time.monotonic) -> None:
        """Take how many calls a minute may hold; `clock` gives monotonic seconds."""
        self._limits = limits
        self._clock = clock
        self._counts: OrderedDict[bytes, _Count] = OrderedDict()

    def note(self, shown: bytes, host: str) -> Standing | None:
        """Count a call that shows `shown` (a token or session, empty for none); None where nothing is limited."""
        limit = self._limits.api_calls if shown else self._limits.anonymous_api_calls
        if not limit:
            return None
        key = hashlib.sha256(shown).digest() if shown else address_of(host)
        now = self._clock()
        count = self._counts.pop(key, None)
        if count is None or now - count.began >= WINDOW:
            count = _Count(now)
        self._counts[key] = count
        if len(self._counts) > _REMEMBERED:
            self._counts.popitem(last=False)
        count.calls += 1
        name = _AUTHENTICATED if shown else _UNAUTHENTICATED
        return Standing(name, limit, count.calls, count.began + WINDOW - now)


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
                message["headers"] = [*message.get("headers", ()), *more]
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
