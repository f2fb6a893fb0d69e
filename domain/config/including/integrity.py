"""`include:integrity`: the hash that a remote file must have. Source: docs/reference/ci-yaml.md, "Includes"."""

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import Final

from domain.config.reading.field import Field

PREFIX: Final = "sha256-"
"""The one kind of hash there is; base64 follows."""


def read_integrity(field: Field) -> str | None:
    """The hash as it is written, if it is one."""
    value = field.value
    if not isinstance(value, str) or not value.startswith(PREFIX):
        field.fault(f"hash must start with '{PREFIX}', followed by the SHA-256 of the file in base64")
        return None
    try:
        digest = b64decode(value.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        digest = b""
    if len(digest) != sha256().digest_size:
        field.fault("hash must be base64 encoded, and a SHA-256")
        return None
    return PREFIX + b64encode(digest).decode()


def integrity_of(text: str) -> str:
    """The hash of a file's text, as `integrity` wants it."""
    return PREFIX + b64encode(sha256(text.encode(errors="surrogatepass")).digest()).decode()
