"""Session tokens: what the browser's cookie carries after sign-in; good for pages only."""

import secrets
from datetime import datetime, timedelta
from typing import Final

import jwt

from auth.keys import SigningKey
from domain.errors import Unauthenticated

COOKIE: Final = "perdure_session"
LIFETIME: Final = timedelta(days=7)

_AUDIENCE: Final = "perdure:session"
_TYPE: Final = "perdure-session+jwt"


def issue_session(key: SigningKey, user_id: int, now: datetime) -> str:
    """A session of a user, good for a week."""
    document = {
        "aud": _AUDIENCE,
        "sub": str(user_id),
        "iat": now,
        "exp": now + LIFETIME,
        "jti": secrets.token_hex(8),
    }
    return jwt.encode(document, key.private, algorithm="EdDSA", headers={"typ": _TYPE})


def read_session(key: SigningKey, token: str) -> int:
    """The user of a session. Raises `Unauthenticated`."""
    try:
        decoded = jwt.decode_complete(
            token, key.public, algorithms=["EdDSA"], audience=_AUDIENCE, options={"require": ["exp", "sub", "jti"]}
        )
        if decoded["header"].get("typ") != _TYPE:
            raise Unauthenticated("Sign in again: this is not a session.")
        return int(decoded["payload"]["sub"])
    except (jwt.PyJWTError, ValueError) as error:
        raise Unauthenticated("Sign in again: the session has ended.") from error
