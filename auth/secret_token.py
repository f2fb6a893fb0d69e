"""Random tokens of people, projects and runners; only their SHA-256 is ever stored."""

import hashlib
import secrets
from typing import Final

from domain.pods.routable_token import RANDOM_BYTES, Route, spelled

PAYLOAD_FIRST: Final = 0
RANDOM_FIRST: Final = 1
"""Forms of a runner's token: as they were made once, and as they are made now."""


def digest(token: str) -> str:
    """What the database keeps of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def plain_token(prefix: str) -> str:
    """A token that carries nothing but 160 random bits, as all but those of runners once were."""
    return prefix + secrets.token_urlsafe(20)


def routable_token(prefix: str, route: Route) -> str:
    """A new token that names where it belongs."""
    return spelled(prefix, route, secrets.token_bytes(RANDOM_BYTES))
