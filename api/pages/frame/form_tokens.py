"""Tokens of forms: whoever sends one shows what only a page of ours could tell their browser.

A cookie holds a random secret that scripts cannot read; each form, and the header `X-CSRF-Token` of a script's
requests, carries a digest of it. Another site can make a browser send the cookie, but not say the digest. The secret
is of the browser and not of a session: signing in needs a token, too, and one browser may have sessions of many pods.
Beside it stand the look at the origin of a request (`api.v4.origin`) and `SameSite`.
"""

import hashlib
import hmac
import secrets
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.pods.credentials import COOKIES, cookie_name

FIELD: Final = "authenticity_token"
"""The field of a form, as GitLab calls it."""
HEADER: Final = "x-csrf-token"
COOKIE: Final = f"{COOKIES}form"
_BYTES: Final = 24
_KEPT: Final = 365 * 24 * 3600
"""Seconds that a browser keeps the secret."""


@dataclass(slots=True)
class _Secret:
    """The secret of a request's browser; `is_new` when a form was drawn for a browser that had none."""

    value: str
    is_new: bool = False


_SECRET: ContextVar[_Secret | None] = ContextVar("form_secret", default=None)


def form_token() -> str:
    """The token for a form on the page that is drawn now; empty outside of a request."""
    secret = _SECRET.get()
    if secret is None:
        return ""
    if not secret.value:
        secret.value, secret.is_new = secrets.token_urlsafe(_BYTES), True
    return token_of_secret(secret.value)


def is_ours(shown: str) -> bool:
    """Whether the cookie of the request at hand and the token that its form or header shows belong together."""
    secret = _SECRET.get()
    known = secret is not None and bool(secret.value) and not secret.is_new
    return known and hmac.compare_digest(form_token().encode(), shown.encode())


def token_of_secret(secret: str) -> str:
    """What shows that somebody knows this secret: 32 hexadecimal digits."""
    return hashlib.sha256(b"perdure form\0" + secret.encode()).hexdigest()[:32]


class FormTokens:
    """Middleware around pages: it knows a browser's secret, and gives one to a browser that needs it."""

    def __init__(self, app: ASGIApp, *, url: str) -> None:
        """`url` is where browsers reach us."""
        self._app = app
        self._cookie = cookie_name(COOKIE, url)
        self._flags = f"HttpOnly; Path=/; SameSite=lax; Max-Age={_KEPT}{'; Secure' * url.startswith('https:')}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        secret = _Secret(Request(scope).cookies.get(self._cookie, ""))

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and secret.is_new:
                MutableHeaders(scope=message).append("set-cookie", f"{self._cookie}={secret.value}; {self._flags}")
            await send(message)

        before = _SECRET.set(secret)
        try:
            await self._app(scope, receive, sent)
        finally:
            _SECRET.reset(before)
