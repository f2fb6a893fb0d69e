"""Hides secrets in a stream of bytes, also those that arrive in pieces."""

from collections.abc import Iterable

from domain.masking import LONGEST_TOKEN, TOKEN_PREFIXES, Secrets

REPLACEMENT = b"[MASKED]"


class Masker:
    """Replaces every secret by `[MASKED]`.

    Overlapping secrets are hidden as one. What could be the beginning of a secret is held back until the next bytes
    decide, so `feed` may return less than it was given; `flush` returns the rest.
    """

    def __init__(self, secrets: Iterable[str], prefixes: Iterable[str] = TOKEN_PREFIXES) -> None:
        """`secrets` are whole values, `prefixes` beginnings of tokens; empty ones are ignored."""
        self._secrets = Secrets((secret.encode() for secret in secrets), prefixes)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the stream and return those that are certain, masked."""
        buffer = self._held + data
        spans = self._secrets.spans(buffer)
        cut = self._certain(buffer)
        for start, end in spans:
            if start < cut < end:
                cut = start
        self._held = buffer[cut:]
        return _replaced(buffer[:cut], [span for span in spans if span[1] <= cut])

    def flush(self) -> bytes:
        """Return what was held back: the stream ends here."""
        buffer, self._held = self._held, b""
        return _replaced(buffer, self._secrets.spans(buffer))

    def _certain(self, buffer: bytes) -> int:
        """How many bytes can be judged without knowing what follows; a word that may go on is not over."""
        cut = self._secrets.open_end(buffer)
        for start, end in self._secrets.tokens(buffer, max(0, len(buffer) - 2 * LONGEST_TOKEN)):
            if end == len(buffer) and end - start < LONGEST_TOKEN:
                cut = min(cut, start)
        return cut


def _replaced(buffer: bytes, spans: list[tuple[int, int]]) -> bytes:
    if not spans:
        return buffer
    parts: list[bytes] = []
    position = 0
    for start, end in spans:
        parts += (buffer[position:start], REPLACEMENT)
        position = end
    return b"".join((*parts, buffer[position:]))
