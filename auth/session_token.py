"""Session tokens: what the browser's cookie carries after sign-in; good for pages only.

One browser may be signed in at several pods behind one address: each has a cookie of its own.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from auth import signed_token
from auth.key_ring import KeyRing
from auth.signed_token import TokenKind
from domain.errors import Unauthenticated
from domain.pods.credentials import COOKIES, VISITS_FROM
from domain.pods.visits import SESSION_FOR

COOKIE: Final = f"{COOKIES}session"
"""That of an installation of one pod, and of the first one of several."""
LIFETIME: Final = timedelta(days=7)

_SESSION: Final = TokenKind("perdure-session+jwt", "perdure:session")


@dataclass(frozen=True, slots=True)
class Session:
    """A session. It is good while `epoch` is that of its user, and the access token it began with, if any, is good.

    `home`: the number of the pod that a visitor came from; None for people of this pod.
    """

    user_id: int
    epoch: int
    token_id: int
    session_id: str
    expires_at: datetime
    home: int | None = None


def cookie_of(pod_number: int) -> str:
    """The cookie in which a pod of a cluster keeps its sessions."""
    return f"{COOKIE}_{pod_number}" if pod_number else COOKIE


def issue_session(
    ring: KeyRing, user_id: int, now: datetime, *, epoch: int = 0, token_id: int = 0, home: int | None = None
) -> str:
    """A session of a user, good for a week at most; that of a visitor, whose home is another pod, for an hour."""
    until = now + (LIFETIME if home is None else SESSION_FOR)
    claims = {"sub": str(user_id), "iat": now, "exp": until, "jti": secrets.token_hex(16), "epoch": epoch}
    of_visitor = {} if home is None else {VISITS_FROM: home}
    return signed_token.sign(ring, _SESSION, {**claims, "token_id": token_id, **of_visitor})


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
        claims.get(VISITS_FROM),
    )
