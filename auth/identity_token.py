"""Tokens by which a job identifies itself to others: RS256, verified with our public list of keys (OpenID Connect)."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import jwt

from auth.key_ring import KeyRing

_SKEW: Final = timedelta(seconds=5)
"""Clocks of others may be behind ours."""


def identity_token(ring: KeyRing, claims: Mapping[str, Any], lifetime: timedelta, now: datetime) -> str:
    """A token with these claims, its own name and its times."""
    key = ring.signer()
    times = {"jti": secrets.token_hex(16), "iat": now, "nbf": now - _SKEW, "exp": now + lifetime}
    return jwt.encode({**claims, **times}, key.private, algorithm=key.algorithm, headers={"kid": key.kid})
