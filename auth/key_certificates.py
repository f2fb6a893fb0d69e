"""Certificates of our identity keys, for verifiers that take nothing else: container registries.

A certificate is made of the key alone, so every process of a pod makes the same one. Key sets have it beside the key
(`x5c`, RFC 7517, 4.7), so that whoever reads those of all pods can give a registry the certificates of all.
"""

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from auth.keys import SigningKey
from domain.errors import Invalid

_FROM: Final = datetime(2020, 1, 1, tzinfo=UTC)
_UNTIL: Final = datetime(2120, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=8)
def certificate(key: SigningKey) -> x509.Certificate:
    """The certificate of an RSA key, always the same. Raises `Invalid` for another kind of key."""
    if not isinstance(key.private, RSAPrivateKey):
        raise Invalid("A container registry verifies tokens of RSA keys only.")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Perdure {key.kid}")])
    builder = x509.CertificateBuilder(name, name, key.private.public_key(), 1, _FROM, _UNTIL)
    return builder.sign(key.private, hashes.SHA256())


def chain(key: SigningKey) -> list[str]:
    """The certificate as JSON web keys and signatures have it in `x5c`. Raises `Invalid`."""
    return [base64.b64encode(certificate(key).public_bytes(Encoding.DER)).decode()]


def published(key: SigningKey) -> dict[str, Any]:
    """The public half of an RSA key as a JSON web key, with its certificate. Raises `Invalid`."""
    return {**key.public_document(), "x5c": chain(key)}


def certificate_in(key: Mapping[str, Any]) -> x509.Certificate | None:
    """The certificate that a published key has; None if it has none, or what is none."""
    chain_of_key: Sequence[str] = key.get("x5c") or ()
    try:
        return x509.load_der_x509_certificate(base64.b64decode(chain_of_key[0], validate=True))
    except (LookupError, ValueError, TypeError):
        return None
