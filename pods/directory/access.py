"""Who calls a directory: by one of its two tokens, or by a signature of a pod that it knows."""

import hashlib
import hmac
import json
from typing import Any, Final

import jwt
from jwt.utils import base64url_decode

from domain.errors import Unauthenticated
from domain.pods.credentials import ISSUER
from domain.pods.directory import Pod, PodState
from domain.pods.directory_access import AUDIENCE, MAX_LIFETIME, TOKEN_TYPE, Caller, Role
from pods.directory import pod_rows
from pods.directory.store import Store

_REFUSED: Final = "401 Unauthorized"
"""Always the same words: nobody learns which pods there are, or what is wrong with a guess."""
_MAX_LENGTH: Final = 8192
_LEEWAY: Final = 30
"""Seconds by which clocks may differ."""
_ALGORITHM: Final = "EdDSA"
_HEADER: Final = frozenset({"alg", "typ", "kid"})


def hash_of(token: str) -> str:
    """What is kept of a token of 256 bits of chance."""
    return hashlib.sha256(token.encode()).hexdigest()


class Access:
    """Tells callers apart."""

    def __init__(self, store: Store, admin_hash: str, read_hash: str) -> None:
        """The hashes of the two tokens."""
        self._store = store
        self._roles = ((admin_hash, Role.ADMIN), (read_hash, Role.READER))

    async def caller(self, authorization: str) -> Caller:
        """Who sends this header. Raises `Unauthenticated`, `Unavailable`."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token or len(token) > _MAX_LENGTH or not token.isascii():
            raise Unauthenticated(_REFUSED)
        found = hash_of(token)
        for known, role in self._roles:
            if hmac.compare_digest(found, known):
                return Caller(role)
        return await self._pod(token)

    async def _pod(self, token: str) -> Caller:
        name = _issuer(token)
        if not name.startswith(ISSUER):
            raise Unauthenticated(_REFUSED)
        pod = await self._store.read(lambda connection: pod_rows.find_pod_by_name(connection, name[len(ISSUER) :]))
        if pod is None or pod.state is PodState.REMOVED or not is_signed_by(pod, token):
            raise Unauthenticated(_REFUSED)
        return Caller(Role.POD, pod.number)


def is_signed_by(pod: Pod, token: str) -> bool:
    """Whether a key that the directory has of the pod signed this token, for a directory, and it is good now."""
    try:
        header = jwt.get_unverified_header(token)
        key = next((key for key in pod.public_keys if key["kid"] == header.get("kid")), None)
        if key is None or key["alg"] != _ALGORITHM or header.keys() != _HEADER or header["typ"] != TOKEN_TYPE:
            return False
        claims = jwt.decode(
            token,
            jwt.PyJWK.from_dict(dict(key)).key,
            algorithms=[_ALGORITHM],
            audience=AUDIENCE,
            issuer=f"{ISSUER}{pod.name}",
            leeway=_LEEWAY,
            options={"require": ["exp", "iat", "aud", "iss"], "strict_aud": True},
        )
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        return False
    return bool(claims["exp"] - claims["iat"] <= MAX_LIFETIME)


def _issuer(token: str) -> str:
    """Whom a token names, which anybody can write; empty for what is no JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        claims: Any = json.loads(base64url_decode(parts[1]))
    except (ValueError, RecursionError):
        return ""
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    return issuer if isinstance(issuer, str) else ""
