"""Public SSH keys as people hand them in: read, checked, and named by their fingerprints.

Source: RFC 4253, section 6.6, for the form; GitLab: "Use SSH keys to communicate with GitLab".
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization.ssh import load_ssh_public_key

from domain.errors import Invalid

KINDS: Final = (
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)
"""DSA is not among them: OpenSSH has given it up."""
LEAST_RSA_BITS: Final = 2048
MAX_RSA_BITS: Final = 16384
MAX_LENGTH: Final = 5000
"""Characters of a key with its comment, as in GitLab."""
_SHA256: Final = "SHA256:"
_MD5: Final = "MD5:"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key on one line with its comment. Fingerprints are as `ssh-keygen -l` shows them, without their head."""

    text: str
    sha256: str
    md5: str


def read_public_key(text: str) -> PublicKey:
    """The key that a text is. Raises `Invalid` with the reason."""
    line = text.strip()
    if "PRIVATE KEY" in line:
        raise Invalid("key is invalid: that is a private key. Show it to nobody; the public one is in the file .pub.")
    if len(line) > MAX_LENGTH or not line.isprintable():
        raise Invalid(f"key is invalid: it must be one line of at most {MAX_LENGTH} characters.")
    kind, _, rest = line.partition(" ")
    if kind not in KINDS:
        raise Invalid(f"key is invalid: its type must be one of {', '.join(KINDS)}.")
    body = rest.strip().partition(" ")[0]
    try:
        content = base64.b64decode(body, validate=True)
        known = load_ssh_public_key(f"{kind} {body}".encode())
    except (ValueError, UnsupportedAlgorithm, binascii.Error) as error:
        raise Invalid(f"key is invalid: what stands behind {kind} is no such key, or only a part of one.") from error
    if isinstance(known, RSAPublicKey) and not LEAST_RSA_BITS <= known.key_size <= MAX_RSA_BITS:
        raise Invalid(
            f"key is invalid: it has {known.key_size} bits; one of RSA must have {LEAST_RSA_BITS} to {MAX_RSA_BITS}."
        )
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    sha256 = base64.b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return PublicKey(line, sha256, ":".join(md5[place : place + 2] for place in range(0, len(md5), 2)))


def fingerprints(text: str) -> tuple[str, str]:
    """The SHA-256 and the MD5 fingerprint that a text may be, one of them empty.

    A blank is the `+` of a fingerprint that was not encoded in its address.
    """
    if text.startswith(_SHA256):
        return text.removeprefix(_SHA256).rstrip("=").replace(" ", "+"), ""
    return "", text.removeprefix(_MD5).lower()
