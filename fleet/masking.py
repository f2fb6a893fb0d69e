"""Hides secrets in a stream of bytes, also those that arrive in pieces."""

import re
from collections.abc import Iterable, Iterator

REPLACEMENT = b"[MASKED]"

TOKEN_PREFIXES = (
    "glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-",
    "glffct-", "gltok-",
)  # fmt: skip
"""A word that starts so is a token whoever prints it (reference: runner protocol, section 5)."""

LONGEST_TOKEN = 400
"""Bytes after a prefix that still count as the same token; bounds what is held back."""


class Masker:
    """Replaces every secret by `[MASKED]`.

    Overlapping secrets are hidden as one. What could be the beginning of a secret is held back until the next bytes
    decide, so `feed` may return less than it was given; `flush` returns the rest.
    """

    def __init__(self, secrets: Iterable[str], prefixes: Iterable[str] = TOKEN_PREFIXES) -> None:
        """`secrets` are whole values, `prefixes` beginnings of tokens; empty ones are ignored."""
        self._secrets = sorted({secret.encode() for secret in secrets if secret}, key=len, reverse=True)
        self._prefixes = sorted({prefix.encode() for prefix in prefixes if prefix}, key=len, reverse=True)
        starts = b"|".join(re.escape(prefix) for prefix in self._prefixes)
        self._token = re.compile(b"(?:" + starts + rb")[\w.=-]{1,%d}" % LONGEST_TOKEN) if starts else None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the stream and return those that are certain, masked."""
        buffer = self._held + data
        spans = _merged(self._spans(buffer))
        cut = self._certain(buffer)
        for start, end in spans:
            if start < cut < end:
                cut = start
        self._held = buffer[cut:]
        return _replaced(buffer[:cut], [span for span in spans if span[1] <= cut])

    def flush(self) -> bytes:
        """Return what was held back: the stream ends here."""
        buffer, self._held = self._held, b""
        return _replaced(buffer, _merged(self._spans(buffer)))

    def _spans(self, buffer: bytes) -> Iterator[tuple[int, int]]:
        for secret in self._secrets:
            start = buffer.find(secret)
            while start >= 0:
                yield start, start + len(secret)
                start = buffer.find(secret, start + 1)
        if self._token is not None:
            for match in self._token.finditer(buffer):
                yield match.span()

    def _certain(self, buffer: bytes) -> int:
        """How many bytes can be judged without knowing what follows."""
        cut = len(buffer)
        for secret in self._secrets:
            cut = min(cut, _open_start(buffer, secret, len(secret) - 1))
        for prefix in self._prefixes:
            cut = min(cut, _open_start(buffer, prefix, len(prefix)))
        if self._token is not None:
            for match in self._token.finditer(buffer, max(0, len(buffer) - 2 * LONGEST_TOKEN)):
                if match.end() == len(buffer) and len(match.group()) < LONGEST_TOKEN:
                    cut = min(cut, match.start())
        return cut


def _open_start(buffer: bytes, needle: bytes, longest: int) -> int:
    """Where the longest end of `buffer` starts that is a beginning of `needle` of at most `longest` bytes."""
    start = buffer.find(needle[:1], max(0, len(buffer) - longest))
    while start >= 0:
        if needle.startswith(buffer[start:]):
            return start
        start = buffer.find(needle[:1], start + 1)
    return len(buffer)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, overlapping ones joined; those that only touch stay apart."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _replaced(buffer: bytes, spans: list[tuple[int, int]]) -> bytes:
    if not spans:
        return buffer
    parts: list[bytes] = []
    position = 0
    for start, end in spans:
        parts += (buffer[position:start], REPLACEMENT)
        position = end
    return b"".join((*parts, buffer[position:]))
