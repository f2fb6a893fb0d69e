"""Tokens for a container registry: what the distribution registry verifies with a bundle of our certificates.

Source: the token specification of the distribution registry. The key comes as a certificate in the header (`x5c`),
the one form that all versions of that registry read (`auth.key_certificates`).
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import jwt

from auth.key_certificates import chain
from auth.key_ring import KeyRing

ISSUER: Final = "perdure"
"""Not our address: a job may ask for an identity token with any audience, which must not look like one of these."""
SERVICE: Final = "container_registry"
LIFETIME: Final = timedelta(minutes=5)
_SKEW: Final = timedelta(seconds=30)


def registry_token(ring: KeyRing, subject: str, access: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """A token that lets `subject` use repositories: each item has `type`, `name` and `actions`."""
    key = ring.signer()
    claims = {
        "iss": ISSUER,
        "aud": SERVICE,
        "sub": subject,
        "jti": secrets.token_hex(16),
        "iat": now,
        "nbf": now - _SKEW,
        "exp": now + LIFETIME,
        "access": access,
    }
    return jwt.encode(claims, key.private, algorithm=key.algorithm, headers={"x5c": chain(key)})
