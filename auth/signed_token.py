"""JWTs that we sign for ourselves, and read as strictly as we write them (docs/reference/reliability.md, "Tokens").

One algorithm, and a key of our own ring: the header of a token chooses nothing else, and may hold nothing else. A token
has one spelling: what a lenient decoder would also take is refused.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import jwt
import orjson

from auth.key_ring import KeyRing
from auth.keys import Algorithm, PublicKey

_REQUIRED: Final = ("exp", "iat", "aud", "iss", "sub", "jti")
_LEEWAY: Final = 30
"""Seconds by which clocks may differ."""
_MAX_LENGTH: Final = 8192
_HEADER: Final = frozenset({"alg", "typ", "kid"})


@dataclass(frozen=True, slots=True)
class TokenKind:
    """What tells one kind of token from all others."""

    typ: str
    audience: str


class Key(Protocol):
    """A key that verifies."""

    @property
    def algorithm(self) -> Algorithm:
        """How it signs."""
        ...

    @property
    def public(self) -> PublicKey:
        """Its public half."""
        ...


class Keys(Protocol):
    """Whose tokens are believed: those of our own ring, or of another pod (`auth.pod_keys`)."""

    @property
    def issuer(self) -> str:
        """In whose name they sign."""
        ...

    @property
    def algorithm(self) -> Algorithm:
        """How all of them sign."""
        ...

    def find(self, kid: str) -> Key | None:
        """A key that is believed, by its name."""
        ...


def sign(ring: KeyRing, kind: TokenKind, claims: Mapping[str, Any]) -> str:
    """A token with these claims, in the name of the ring's pod."""
    key = ring.signer()
    document = {"iss": ring.issuer, "aud": kind.audience, **claims}
    headers = {"typ": kind.typ, "kid": key.kid}
    return jwt.encode(document, key.private, algorithm=key.algorithm, headers=headers)


def read(keys: Keys, kind: TokenKind, token: str) -> dict[str, Any] | None:
    """The claims of a good token of this kind and pod; None for anything else."""
    header = _header(token)
    if header is None or header.keys() != _HEADER or header["typ"] != kind.typ or header["alg"] != keys.algorithm:
        return None
    key = keys.find(header["kid"])
    if key is None:
        return None
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key.public,
            algorithms=[key.algorithm],
            audience=kind.audience,
            issuer=keys.issuer,
            leeway=_LEEWAY,
            options={"require": list(_REQUIRED), "strict_aud": True},
        )
    except (jwt.PyJWTError, ValueError, OverflowError):
        return None
    return claims


def issuer_of(token: str) -> str:
    """In whose name a token says that it is signed, which anybody can write; empty for what is no token."""
    parts = token.split(".") if len(token) <= _MAX_LENGTH and token.isascii() else []
    try:
        claims = orjson.loads(_decoded(parts[1]) or b"") if len(parts) == 3 else None
    except orjson.JSONDecodeError:
        return ""
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    return issuer if isinstance(issuer, str) else ""


def key_of(token: str) -> str:
    """The name of the key that signed a good token."""
    header = _header(token) or {}
    return str(header.get("kid", ""))


def _header(token: str) -> dict[str, Any] | None:
    """The header, if the token is three parts in the one right spelling."""
    parts = token.split(".") if len(token) <= _MAX_LENGTH and token.isascii() else []
    contents = [_decoded(part) for part in parts]
    if len(contents) != 3 or not all(contents):
        return None
    try:
        header = orjson.loads(contents[0] or b"")
    except orjson.JSONDecodeError:
        return None
    return header if isinstance(header, dict) else None


def _decoded(part: str) -> bytes | None:
    """The bytes of base64url; None for what is none, or could be written otherwise."""
    try:
        content = base64.b64decode(part + "=" * (-len(part) % 4), b"-_", validate=True)
    except binascii.Error:
        return None
    return content if base64.urlsafe_b64encode(content).rstrip(b"=").decode() == part else None
