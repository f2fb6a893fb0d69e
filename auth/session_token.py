"""Session tokens: what the browser's cookie carries after sign-in; good for pages only."""

import secrets
from datetime import datetime, timedelta
from typing import Final

from auth import signed_token
from auth.key_ring import KeyRing
from auth.signed_token import TokenKind
from domain.errors import Unauthenticated

COOKIE: Final = "perdure_session"
LIFETIME: Final = timedelta(days=7)

_SESSION: Final = TokenKind("perdure-session+jwt", "perdure:session")


def issue_session(ring: KeyRing, user_id: int, now: datetime) -> str:
    """A session of a user, good for a week."""
    claims = {"sub": str(user_id), "iat": now, "exp": now + LIFETIME, "jti": secrets.token_hex(8)}
    return signed_token.sign(ring, _SESSION, claims)


def read_session(ring: KeyRing, token: str) -> int:
    """The user of a session. Raises `Unauthenticated`."""
    claims = signed_token.read(ring, _SESSION, token)
    if claims is None or not claims["sub"].isdecimal():
        raise Unauthenticated("Sign in again: the session has ended.")
    return int(claims["sub"])
