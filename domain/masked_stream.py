"""Hides secrets in a stream of bytes, also those that arrive in pieces."""

from collections.abc import Iterable

from domain.masking import MAX_TOKEN, TOKEN_PREFIXES, Secrets

REPLACEMENT = b"[MASKED]"


class Masker:
    """Replaces every secret by `[MASKED]`.

    Overlapping secrets are hidden as one. What could be the beginning of a secret is held back until the next bytes
    decide, so `feed` may return less than it was given; `flush` returns the rest.
    """

    def __init__(self, secrets: Iterable[str], prefixes: Iterable[str] = TOKEN_PREFIXES) -> None:
        """`secrets` are whole values, `prefixes` beginnings of tokens; empty ones are ignored."""
        self._known, self._prefixes = set(secrets), tuple(prefixes)
        self._secrets = Secrets((secret.encode() for secret in self._known), self._prefixes)
        self._held = b""
        self._hidden = 0
        """So many of the bytes that are held end a secret of which the replacement has been written."""

    def add(self, secrets: Iterable[str]) -> None:
        """Know more secrets from here on; for what is held back they come too late, it has to be flushed before."""
        self._known |= set(secrets)
        self._secrets = Secrets((secret.encode() for secret in self._known), self._prefixes)

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the stream and return those that are certain, masked."""
        buffer = self._held + data
        return self._masked(buffer, self._certain(buffer))

    def flush(self) -> bytes:
        """Return what was held back: the stream ends here."""
        return self._masked(self._held, len(self._held))

    def _masked(self, buffer: bytes, cut: int) -> bytes:
        """The bytes before `cut`; a secret that goes on there is replaced now, and no more of it is written later.

        Secrets may overlap without end: what waited for the end of all of them would grow with the log.
        """
        parts: list[bytes] = []
        position = self._hidden
        for start, end in self._secrets.spans(buffer):
            if start < cut and end > position:
                if start >= position:
                    parts += (buffer[position:start], REPLACEMENT)
                position = end
        parts.append(buffer[position:cut])
        self._held, self._hidden = buffer[cut:], max(0, position - cut)
        return b"".join(parts)

    def _certain(self, buffer: bytes) -> int:
        """How many bytes can be judged without knowing what follows; a word that may go on is not over."""
        cut = self._secrets.open_end(buffer)
        for start, end in self._secrets.tokens(buffer, max(0, len(buffer) - 2 * MAX_TOKEN)):
            if end == len(buffer) and end - start < MAX_TOKEN:
                cut = min(cut, start)
        return cut
