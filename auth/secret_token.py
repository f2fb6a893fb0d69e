"""Random tokens of people and runners; only their SHA-256 is ever stored.

Runner tokens have GitLab's routable form (reference: reliability, 1.2): the payload names pod and organisation, so that
a router knows where to go; the checksum is against typing errors, not for authenticity.
"""

import base64
import hashlib
import secrets
import zlib
from collections.abc import Mapping
from typing import Final

PERSONAL: Final = "glpat-"
RUNNER: Final = "glrt-"
RUNNER_BY_REGISTRATION: Final = "glrtr-"
REGISTRATION: Final = "GR1348941"

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_RANDOM_BYTES: Final = 16


def digest(token: str) -> str:
    """What the database keeps of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def plain_token(prefix: str) -> str:
    """A token that carries nothing but 160 random bits."""
    return prefix + secrets.token_urlsafe(20)


def routable_token(prefix: str, route: Mapping[str, int], random: bytes | None = None) -> str:
    """A token that names where it belongs: `c` pod, `o` organisation, `p` project, `u` user, `t` runner type."""
    payload = "\n".join(f"{key}:{base36(value)}" for key, value in sorted(route.items()))
    noise = random if random is not None else secrets.token_bytes(_RANDOM_BYTES)
    encoded = base64.urlsafe_b64encode(payload.encode() + noise + bytes([len(noise)])).rstrip(b"=").decode()
    text = f"{prefix}{encoded}.01.{base36(len(encoded), 2)}"
    return text + base36(zlib.crc32(text.encode()), 7)


def base36(value: int, width: int = 1) -> str:
    """A number in base 36, padded with zeros on the left."""
    digits = ""
    while value:
        value, rest = divmod(value, 36)
        digits = _DIGITS[rest] + digits
    return digits.rjust(width, "0")
