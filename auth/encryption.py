"""Secrets at rest: sealed with AES-256-GCM under the key of the installation, each for one purpose.

A sealed text names its key, so that keys can be changed: the newest one seals, all are tried by name. What a text is
sealed for (its `purpose`, such as the row it stands in) is authenticated with it: copied elsewhere it cannot be opened.
"""

import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from domain.errors import Invalid
from files import durable
from settings import Settings

_FORM: Final = re.compile(r"v1\.(?P<key>[0-9a-f]{8})\.(?P<text>[A-Za-z0-9_-]+)")
_FILE_FORM: Final = re.compile(rb"v1\.(?P<key>[0-9a-f]{8})\.")
_NONCE: Final = 12
_KEY_BYTES: Final = 32
FILE: Final = "secrets.key"
_HOW: Final = "give the key that this installation was made with: PERDURE_SECRETS_KEY, or the file"


class Sealer:
    """Seals and opens texts and files with the keys of the installation, of which the first one seals."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """`keys` are 32 bytes each, by name, the one that seals first."""
        self._keys = {name: AESGCM(key) for name, key in keys.items()}
        self.name = next(iter(keys))

    def seal(self, text: str, purpose: str) -> str:
        """A text that only this installation can open again, for the same purpose."""
        sealed = self._sealed(text.encode(), purpose)
        return f"v1.{self.name}.{base64.urlsafe_b64encode(sealed).rstrip(b'=').decode()}"

    def open(self, sealed: str, purpose: str) -> str:
        """The text again. Raises `Invalid` with a wrong key, or for what was changed or moved."""
        form = _FORM.fullmatch(sealed)
        if form is None:
            raise Invalid("A secret in the database is damaged: it has not the form of a sealed text.")
        key = self._key(form["key"])
        try:
            content = base64.b64decode(form["text"] + "=" * (-len(form["text"]) % 4), b"-_", validate=True)
            return key.decrypt(content[:_NONCE], content[_NONCE:], purpose.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise Invalid(f"A secret in the database is damaged: it cannot be opened for {purpose}.") from error

    def seal_bytes(self, content: bytes, purpose: str) -> bytes:
        """The same for a file, which stays binary."""
        return f"v1.{self.name}.".encode() + self._sealed(content, purpose)

    def open_bytes(self, sealed: bytes, purpose: str) -> bytes:
        """The file again. Raises `Invalid` with a wrong key, or for what was changed or moved."""
        form = _FILE_FORM.match(sealed)
        if form is None:
            raise Invalid("A sealed file is damaged: it has not the form of one.")
        key, content = self._key(form["key"].decode()), sealed[form.end() :]
        try:
            return key.decrypt(content[:_NONCE], content[_NONCE:], purpose.encode())
        except (InvalidTag, ValueError) as error:
            raise Invalid(f"A sealed file is damaged: it cannot be opened for {purpose}.") from error

    def _sealed(self, content: bytes, purpose: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return nonce + self._keys[self.name].encrypt(nonce, content, purpose.encode())

    def _key(self, name: str) -> AESGCM:
        key = self._keys.get(name)
        if key is None:
            raise Invalid(f"A secret was sealed with key {name}, which is not here; {_HOW} {FILE}.")
        return key


def open_sealer(settings: Settings) -> Sealer:
    """The keys of the settings, or that of the file, which is made at the first start. Raises `Invalid`."""
    texts = settings.secrets_key.split() or [_from_file(settings.home.resolve() / "keys" / FILE)]
    keys = [_read(text) for text in texts]
    return Sealer({hashlib.sha256(b"perdure secrets key" + key).hexdigest()[:8]: key for key in keys})


def new_key() -> str:
    """A fresh key as text."""
    return base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def _read(text: str) -> bytes:
    try:
        key = base64.urlsafe_b64decode(text)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise Invalid(
            "PERDURE_SECRETS_KEY is not a key of 32 bytes in base64; make one with "
            'python -c "import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())".'
        )
    return key


def _from_file(path: Path) -> str:
    if not path.exists():
        durable.create(path, f"{new_key()}\n".encode())
    return path.read_text()
