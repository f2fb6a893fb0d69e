"""Session tokens: what the browser's cookie carries after sign-in; good for pages only."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from auth import signed_token
from auth.key_ring import KeyRing
from auth.signed_token import TokenKind
from domain.errors import Unauthenticated

COOKIE: Final = "perdure_session"
LIFETIME: Final = timedelta(days=7)

_SESSION: Final = TokenKind("perdure-session+jwt", "perdure:session")


@dataclass(frozen=True, slots=True)
class Session:
    """A session. It is good while `epoch` is that of its user, and the access token it began with, if any, is good."""

    user_id: int
    epoch: int
    token_id: int
    session_id: str
    expires_at: datetime


def issue_session(ring: KeyRing, user_id: int, now: datetime, *, epoch: int = 0, token_id: int = 0) -> str:
    """A session of a user, good for a week at most."""
    claims = {"sub": str(user_id), "iat": now, "exp": now + LIFETIME, "jti": secrets.token_hex(16)}
    return signed_token.sign(ring, _SESSION, {**claims, "epoch": epoch, "token_id": token_id})


def read_session(ring: KeyRing, token: str) -> Session:
    """What a session says. Raises `Unauthenticated`."""
    claims = signed_token.read(ring, _SESSION, token)
    if claims is None or not claims["sub"].isdecimal() or "epoch" not in claims:
        raise Unauthenticated("Sign in again: the session has ended.")
    return Session(
        int(claims["sub"]),
        int(claims["epoch"]),
        int(claims.get("token_id", 0)),
        claims["jti"],
        datetime.fromtimestamp(claims["exp"], UTC),
    )
