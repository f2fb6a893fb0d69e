"""Keys that sign tokens: Ed25519 for our own, RSA for those that others verify; read from PEM, made, and named.

A key is called by its thumbprint (RFC 7638), so that nobody but the key itself decides what it is called.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey, generate_private_key
from jwt.algorithms import OKPAlgorithm, RSAAlgorithm

from domain.errors import Invalid
from files import durable

PrivateKey: TypeAlias = Ed25519PrivateKey | RSAPrivateKey
PublicKey: TypeAlias = Ed25519PublicKey | RSAPublicKey

_PEM: Final = re.compile(r"-----BEGIN (?P<kind>[A-Z0-9 ]+)-----.*?-----END (?P=kind)-----", re.DOTALL)
_RSA_BITS: Final = 2048
_THUMBPRINT: Final = {"EdDSA": ("crv", "kty", "x"), "RS256": ("e", "kty", "n")}


class Algorithm(StrEnum):
    """How a key signs; one algorithm for each kind of key."""

    EDDSA = "EdDSA"
    RS256 = "RS256"


@dataclass(frozen=True, slots=True, eq=False)
class SigningKey:
    """One key of a pod; `kid` is its thumbprint."""

    kid: str
    algorithm: Algorithm
    private: PrivateKey
    public: PublicKey

    @classmethod
    def of(cls, private: PrivateKey) -> "SigningKey":
        """A key with its name."""
        algorithm = Algorithm.EDDSA if isinstance(private, Ed25519PrivateKey) else Algorithm.RS256
        public = private.public_key()
        return cls(_thumbprint(algorithm, public), algorithm, private, public)

    @classmethod
    def new(cls, algorithm: Algorithm) -> "SigningKey":
        """A fresh key."""
        if algorithm is Algorithm.EDDSA:
            return cls.of(Ed25519PrivateKey.generate())
        return cls.of(generate_private_key(65537, _RSA_BITS))

    def public_document(self) -> dict[str, Any]:
        """The public half as a JSON web key, for whoever verifies what it signs."""
        return {**_public_members(self.public), "kid": self.kid, "use": "sig", "alg": str(self.algorithm)}

    def write(self, path: Path) -> None:
        """Keep the key in a new file that only we can read; a file that is there already stays as it is."""
        pem = self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        durable.create(path, pem)


def read_keys(pem: str, source: str) -> tuple[SigningKey, ...]:
    """The keys of a text with one PEM or several. Raises `Invalid` with the name of their source."""
    found = [match[0] for match in _PEM.finditer(pem)]
    if not found:
        raise Invalid(f"{source} is not a PEM private key; make one with openssl genpkey -algorithm ed25519.")
    return tuple(SigningKey.of(_read(text, source)) for text in found)


def _read(text: str, source: str) -> PrivateKey:
    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError) as error:
        raise Invalid(
            f"{source} is not a PEM private key; make one with openssl genpkey -algorithm ed25519."
        ) from error
    if isinstance(key, Ed25519PrivateKey) or (isinstance(key, RSAPrivateKey) and key.key_size >= _RSA_BITS):
        return key
    raise Invalid(f"{source} is neither an Ed25519 key nor an RSA key of {_RSA_BITS} bits or more.")


def _public_members(public: PublicKey) -> dict[str, Any]:
    if isinstance(public, Ed25519PublicKey):
        return OKPAlgorithm.to_jwk(public, as_dict=True)
    return {name: value for name, value in RSAAlgorithm.to_jwk(public, as_dict=True).items() if name != "key_ops"}


def _thumbprint(algorithm: Algorithm, public: PublicKey) -> str:
    members = _public_members(public)
    canonical = orjson.dumps({name: members[name] for name in _THUMBPRINT[algorithm]})
    return base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).rstrip(b"=").decode()
