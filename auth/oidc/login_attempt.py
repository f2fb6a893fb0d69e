"""A sign-in that was begun at a provider: what the browser keeps in a cookie until it comes back.

The cookie binds the answer to the browser that asked: state, nonce and PKCE's verifier of nobody else are good there.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from auth import signed_token
from auth.key_ring import KeyRing
from auth.signed_token import TokenKind
from domain.errors import Unauthenticated
from domain.pods.credentials import COOKIES

COOKIE: Final = f"{COOKIES}oidc"
LIFETIME: Final = timedelta(minutes=10)

_KIND: Final = TokenKind("perdure-oidc+jwt", "perdure:oidc")
_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """One attempt; `then` is the page that it leads to."""

    state: str
    nonce: str
    verifier: str
    then: str

    def require_state(self, state: str) -> None:
        """Raise `Unauthenticated` unless an answer is one to this attempt."""
        if not hmac.compare_digest(self.state.encode(), state.encode()):
            raise Unauthenticated("The answer does not belong to the sign-in that this browser began. Sign in again.")


def new_attempt(then: str) -> LoginAttempt:
    """A fresh one."""
    state, nonce, verifier = (secrets.token_urlsafe(_BYTES) for _ in range(3))
    return LoginAttempt(state, nonce, verifier, then)


def issue_attempt(ring: KeyRing, attempt: LoginAttempt, now: datetime) -> str:
    """The cookie's text, good for ten minutes."""
    claims = {"sub": attempt.state, "iat": now, "exp": now + LIFETIME, "jti": secrets.token_hex(16)}
    more = {"nonce": attempt.nonce, "verifier": attempt.verifier, "then": attempt.then}
    return signed_token.sign(ring, _KIND, {**claims, **more})


def read_attempt(ring: KeyRing, cookie: str) -> LoginAttempt:
    """What was begun. Raises `Unauthenticated`."""
    claims = signed_token.read(ring, _KIND, cookie)
    if claims is None:
        raise Unauthenticated("This browser began no sign-in, or too long ago. Sign in again.")
    return LoginAttempt(claims["sub"], claims["nonce"], claims["verifier"], claims["then"])
