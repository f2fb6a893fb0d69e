"""How many calls of the REST API somebody may make in a minute, with GitLab's headers. Each process counts for itself.

Runners are not counted: their calls are answered ahead of this, and a 429 would make them slow
(docs/reference/runner-protocol.md, "Every call"). Git is neither.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from http import HTTPStatus
from typing import Final

from fastapi import Request
from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.pods.job_of_pod import job_of_pod
from api.shown_tokens import shown_by
from application.limits.windows import Windows
from domain.client_network import network_of
from settings import RateLimits

_REMEMBERED: Final = 20_000
_PREFIX: Final = "/api/v4/"
_AUTHENTICATED: Final = "throttle_authenticated_api"
_OWN: Final = b"ratelimit-name"
_UNAUTHENTICATED: Final = "throttle_unauthenticated_api"
_IS_KNOWN: Final = "perdure.caller_is_known"
"""Where the scope of a request holds what notes that its token is somebody's."""


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


class Throttle:
    """Counts the calls of everybody.

    A token that was not yet somebody's counts for its address too, or a new word each time would never be one too many.
    """

    def __init__(self, limits: RateLimits, clock: Callable[[], float] = time.monotonic) -> None:
        """Take how many calls a minute may hold; `clock` gives monotonic seconds."""
        self._limits = limits
        self._windows = Windows(clock)
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def note(self, shown: bytes, host: str) -> Standing | None:
        """Count a call that shows `shown` (a token or session, empty for none); None where nothing is limited."""
        address = network_of(host)
        if not shown:
            return self._count(_UNAUTHENTICATED, self._limits.anonymous_api_calls, address)
        key = hashlib.sha256(shown).digest()
        if key not in self._known:
            guesses = self._count(_UNAUTHENTICATED, self._limits.anonymous_api_calls, b"shown by " + address)
            if guesses is not None and guesses.is_over:
                return guesses
        return self._count(_AUTHENTICATED, self._limits.api_calls, key)

    def note_known(self, shown: bytes) -> None:
        """Remember that a token or session is somebody's."""
        key = hashlib.sha256(shown).digest()
        self._known[key] = None
        self._known.move_to_end(key)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _count(self, name: str, limit: int, key: bytes) -> Standing | None:
        if not limit:
            return None
        observed, reset_in = self._windows.note(key)
        return Standing(name, limit, observed, reset_in)


def note_known_caller(request: Request) -> None:
    """Remember that what a request shows is somebody's."""
    note = request.scope.get(_IS_KNOWN)
    if note is not None:
        note()


class RateLimited:
    """Middleware that counts calls of the REST API and refuses those that are too many."""

    def __init__(self, app: ASGIApp, throttle: Throttle, clock: Callable[[], datetime]) -> None:
        """`app` answers."""
        self._app = app
        self._throttle = throttle
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on with the headers of its standing, or answer 429. Jobs of other pods are counted there."""
        standing = self._standing(scope)
        if standing is None:
            await self._app(scope, receive, send)
            return
        more = standing.headers(self._clock())
        if standing.is_over:
            headers = {name.decode(): value.decode() for name, value in more}
            response = PlainTextResponse("Retry later\n", HTTPStatus.TOO_MANY_REQUESTS, headers)
            await response(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = list(message.get("headers", ()))
                has_own = any(name.lower() == _OWN for name, _ in said)  # a limit of what was done, which was passed
                message["headers"] = said if has_own else [*said, *more]
            await send(message)

        await self._app(scope, receive, with_headers)

    def _standing(self, scope: Scope) -> Standing | None:
        if scope["type"] != "http" or not scope["path"].startswith(_PREFIX) or job_of_pod(scope) is not None:
            return None
        shown = shown_by(Request(scope)).encode()
        client = scope.get("client")
        if shown:
            scope[_IS_KNOWN] = partial(self._throttle.note_known, shown)
        return self._throttle.note(shown, client[0] if client else "")
