"""Verifying a provider's `id_token` (OpenID Connect Core, 3.1.3.7)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwk, jws, jwt
from joserfc.errors import JoseError

from domain.errors import Unauthenticated

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519", "EdDSA"),
)
"""Signatures by a private key only: neither `none` nor one by our client secret."""
_KEY_TYPES: Final = frozenset({"RSA", "EC", "OKP"})
_LEEWAY: Final = 30
"""Seconds by which clocks may differ."""
_MAX_LENGTH: Final = 16_384
_MAX_SUBJECT: Final = 255


class UnknownKey(Exception):
    """The token names a key that is not among those known; the provider may have a new one."""


def verified(
    token: str,
    keys: Sequence[Mapping[str, Any]],
    *,
    issuer: str,
    client_id: str,
    nonce: str,
    access_token: str,
    now: datetime,
) -> dict[str, Any]:
    """The claims of a token that the provider made for us and for this sign-in.

    Raises `UnknownKey`, and `Unauthenticated` for everything else that is wrong.
    """
    if len(token) > _MAX_LENGTH:
        raise Unauthenticated("The provider's answer is not to be believed: its id_token is too long.")
    try:
        header = jws.extract_compact(token.encode()).headers()
        signed = jwt.decode(token, _key(header, keys), algorithms=list(ALGORITHMS))
        options: Any = {name: {"essential": True} for name in ("sub", "exp", "iat", "nonce")}
        options |= {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": client_id}}
        params = {"nonce": nonce, "client_id": client_id, "access_token": access_token}
        claims = CodeIDToken(signed.claims, signed.header, options, params)
        claims.validate(int(now.timestamp()), _LEEWAY)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise Unauthenticated(f"The provider's answer is not to be believed: {_words(error)}.") from error
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= _MAX_SUBJECT:
        raise Unauthenticated("The provider's answer is not to be believed: it does not say who signed in.")
    return dict(claims)


def _key(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]) -> jwk.Key:
    """The one key that the token names, or the only one there is of its kind."""
    if header.get("alg") not in ALGORITHMS:
        raise ValueError("its id_token is signed by no permitted algorithm")
    usable = [key for key in keys if key.get("kty") in _KEY_TYPES and key.get("use", "sig") == "sig"]
    kid = header.get("kid")
    named = [key for key in usable if key.get("kid") == kid] if kid is not None else usable
    if len(named) != 1:
        raise UnknownKey(str(kid))
    return jwk.import_key(dict(named[0]))


def _words(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
