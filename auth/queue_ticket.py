"""The ticket of a runner that waits: `X-GitLab-Last-Update` (R0.8; docs/reference/runner-protocol.md, "Queue ticket").

It names the pod in plain text, so that a router can read it, and the state of the queue that the runner has seen. It is
signed, because whoever shows one that is up to date is held without a look into the queue. It opens nothing: a ticket
that is forged, foreign, of another runner or cut short only costs that look.
"""

import base64
import hashlib
import hmac
import re
import time
from dataclasses import dataclass
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from auth.key_ring import LOOK_EVERY, KeyRing

_LABEL: Final = b"perdure queue ticket"
_SIGNATURE: Final = 16
"""Bytes of the keyed BLAKE2b (RFC 7693), which takes a fifth of the time of an HMAC: each poll signs twice."""
_MAX_LENGTH: Final = 100
_FORM: Final = re.compile(r"(q1\.([0-9]{1,4})\.([0-9a-f]{8})\.([0-9]{1,15}))\.([A-Za-z0-9_-]{22})")


@dataclass(frozen=True, slots=True)
class Seen:
    """A state of the queue: `number` counts what happened since the start of the process that calls itself `boot`."""

    boot: str
    number: int


class QueueTickets:
    """Issues and reads the tickets of one pod; each of its processes knows those of the others."""

    def __init__(self, keys: KeyRing, pod_number: int) -> None:
        """Sign with a secret of the key that signs now. Tickets of the key before it cost a look."""
        self._keys = keys
        self._pod_number = pod_number
        self._secret = b""
        self._key = ""
        self._look_at = 0.0

    def issue(self, runner_id: int, seen: Seen) -> str:
        """The ticket of a runner that has found nothing in this state of the queue; at most 100 characters."""
        text = f"q1.{self._pod_number}.{seen.boot}.{seen.number}"
        return f"{text}.{self._signature(text, runner_id)}"

    def read(self, ticket: str, runner_id: int) -> Seen | None:
        """What this runner has seen; None for anything that is no ticket of this pod for it."""
        form = _FORM.fullmatch(ticket) if len(ticket) <= _MAX_LENGTH else None
        if form is None:
            return None
        text, pod_number, boot, number, signature = form.groups()
        right = hmac.compare_digest(signature, self._signature(text, runner_id))
        return Seen(boot, int(number)) if right and int(pod_number) == self._pod_number else None

    def _signature(self, text: str, runner_id: int) -> str:
        keyed = hashlib.blake2b(f"{text} {runner_id}".encode(), key=self._current_secret(), digest_size=_SIGNATURE)
        return base64.urlsafe_b64encode(keyed.digest()).rstrip(b"=").decode()

    def _current_secret(self) -> bytes:
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_EVERY
            key = self._keys.signer()
            if key.kid != self._key:
                private = key.private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
                self._key, self._secret = key.kid, HKDF(SHA256(), 32, salt=None, info=_LABEL).derive(private)
        return self._secret
