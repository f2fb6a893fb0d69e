"""The pod's signing key: Ed25519, made once, kept in a file that only we can read, or handed in by the settings."""

import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from domain.errors import Invalid


@dataclass(frozen=True, slots=True)
class SigningKey:
    """Signs and verifies the tokens of one pod."""

    private: Ed25519PrivateKey
    public: Ed25519PublicKey

    @classmethod
    def from_pem(cls, pem: str) -> "SigningKey":
        """Read a key. Raises `Invalid` when it is not an Ed25519 private key."""
        try:
            key = serialization.load_pem_private_key(pem.encode(), password=None)
        except ValueError as error:
            raise Invalid("PERDURE_SIGNING_KEY is not a PEM private key; make one with openssl genpkey.") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise Invalid("PERDURE_SIGNING_KEY is not an Ed25519 key; use openssl genpkey -algorithm ed25519.")
        return cls(key, key.public_key())

    @classmethod
    def from_file(cls, path: Path) -> "SigningKey":
        """Read the key in `path`; make one where there is none."""
        if not path.exists():
            _write_new(path)
        return cls.from_pem(path.read_text())


def _write_new(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    draft = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(descriptor)
    try:
        os.link(draft, path)  # fails where another process was quicker: its key is the one
    except FileExistsError:
        pass
    finally:
        draft.unlink()
