"""Tokens for a container registry: what the distribution registry verifies with a bundle of our certificates.

Source: the token specification of the distribution registry. The key comes as a certificate in the header (`x5c`),
the one form that all versions of that registry read. The certificate is made of the key alone, so every process of the
pod makes the same one, and so does `perdure keys certificates`.
"""

import base64
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from auth.key_ring import KeyRing
from auth.keys import SigningKey
from domain.errors import Invalid

ISSUER: Final = "perdure"
"""Not our address: a job may ask for an identity token with any audience, which must not look like one of these."""
SERVICE: Final = "container_registry"
LIFETIME: Final = timedelta(minutes=5)
_SKEW: Final = timedelta(seconds=30)
_FROM, _UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)


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
    chain = [base64.b64encode(certificate(key).public_bytes(Encoding.DER)).decode()]
    return jwt.encode(claims, key.private, algorithm=key.algorithm, headers={"x5c": chain})


@lru_cache(maxsize=8)
def certificate(key: SigningKey) -> x509.Certificate:
    """The certificate of an RSA key, always the same. Raises `Invalid` for another kind of key."""
    if not isinstance(key.private, RSAPrivateKey):
        raise Invalid("A container registry verifies tokens of RSA keys only.")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Perdure {key.kid}")])
    builder = x509.CertificateBuilder(name, name, key.private.public_key(), 1, _FROM, _UNTIL)
    return builder.sign(key.private, hashes.SHA256())
