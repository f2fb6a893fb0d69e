"""What is secret in a log, and where it stands. Pure; the runner and the server use the same rules.

Whether a byte belongs to a secret is decided by the `reach` bytes before it and after it. So any part of a log can be
masked alone, with the same result as the whole (docs/reference/reliability.md, "Masked values").
"""

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import quote, quote_plus

from domain.pods.token_prefixes import JOB, RANDOM

TOKEN_PREFIXES: Final = (
    *RANDOM, JOB, "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "gltok-",
)  # fmt: skip
"""A word that starts so is a token whoever prints it (docs/reference/runner-protocol.md, "Log text")."""

MAX_TOKEN: Final = 4096
"""Bytes after a prefix that still count as the same token; a job token is a JWT with a scope for each dependency."""

_VISIBLE: Final = re.compile(rb"[^\n]")
_WORD: Final = re.compile(rb"[\w.=-]+")
_ENCODED_FROM: Final = 8
"""Values and lines of at least so many bytes are known in other forms too; shorter ones would hide half of a log."""
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_FEW: Final = 16
"""Places at which a value may begin that are compared one by one, which is quick, before all others are at once."""
_BEFORE: Final = (0, 2, 3)
"""Base64 letters that also depend on what stands before a value, by the bytes of a group that stand before it."""


class Secrets:
    """Whole values, and words that begin like a token."""

    def __init__(self, values: Iterable[bytes] = (), prefixes: Iterable[str] = TOKEN_PREFIXES) -> None:
        """Empty values and prefixes are ignored."""
        self._values = sorted({value for value in values if value}, key=len, reverse=True)
        self._prefixes = sorted({prefix.encode() for prefix in prefixes if prefix}, key=len, reverse=True)
        self._tokens = _patterns(self._prefixes)
        self._longest_prefix = len(self._prefixes[0]) if self._prefixes else 0
        longest_token = self._longest_prefix + MAX_TOKEN if self._prefixes else 0
        self.reach = max(longest_token, len(self._values[0]) if self._values else 0)
        """A byte is judged by at most so many bytes on either side of it."""

    def spans(self, buffer: bytes) -> list[tuple[int, int]]:
        """Where secrets stand, in order; overlapping ones are one, those that only touch stay apart."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted([*self._places(buffer), *self.tokens(buffer)]):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def masked(self, buffer: bytes) -> bytes:
        """The same number of bytes, those of secrets as `*` but for their newlines: lines keep their numbers."""
        spans = self.spans(buffer)
        if not spans:
            return buffer
        hidden = bytearray(buffer)
        for start, end in spans:
            hidden[start:end] = _VISIBLE.sub(b"*", hidden[start:end])
        return bytes(hidden)

    def open_end(self, buffer: bytes) -> int:
        """Where that end begins which may be the beginning of a secret; the buffer's length if there is none."""
        cut = len(buffer)
        for value in self._values:
            cut = min(cut, _open_start(buffer, value, len(value) - 1))
        for prefix in self._prefixes:
            cut = min(cut, _open_start(buffer, prefix, len(prefix)))
        return cut

    def tokens(self, buffer: bytes, begin: int = 0) -> Iterator[tuple[int, int]]:
        """Words from byte `begin` on that begin like a token, in no order; they may overlap."""
        for pattern in self._tokens:
            place, word_end = begin, begin
            while (found := pattern.search(buffer, place)) is not None:
                start, content = found.span()
                if content >= word_end:  # a word is followed to its end once, whatever begins within it
                    word = _WORD.match(buffer, content)
                    word_end = content if word is None else word.end()
                end = min(word_end, content + MAX_TOKEN)
                yield start, end
                # What begins within a word that has ended is part of it, unless its prefix reaches beyond.
                has_ended = end - start < MAX_TOKEN
                place = max(start + 1, end - self._longest_prefix) if has_ended else start + 1

    def _places(self, buffer: bytes) -> Iterator[tuple[int, int]]:
        for value in self._values:
            start = buffer.find(value)
            while start >= 0:
                last, following = start, buffer.find(value, start + 1)
                step = following - start
                if 0 < step <= len(value) // 2:  # the text repeats itself: so do the places, as long as it does
                    last += (_repeats_until(buffer, start, step) - start - len(value)) // step * step
                    following = buffer.find(value, last + 1)
                yield start, last + len(value)
                start = following


class MaskedRange:
    """The bytes from `start` up to, without, `end` of a log, masked, each byte in its place.

    `feed` wants the log in order from byte `begin` up to byte `stop`, in parts of any size, and gives back what is
    decided so far. Memory: the part and twice the reach of the secrets.
    """

    def __init__(self, secrets: Secrets, start: int, end: int, size: int, *, grows: bool = False) -> None:
        """`size` is where the log ends. If it `grows`, an end that may be the beginning of a secret is left out."""
        self.begin = max(0, start - secrets.reach)
        self.stop = min(size, end + secrets.reach)
        self._may_open = grows and self.stop == size
        self._secrets = secrets
        self._position, self._end = start, end
        self._base, self._buffer = self.begin, b""

    def feed(self, part: bytes) -> bytes:
        """Take the next bytes of the log; give back the next ones of the range."""
        self._buffer += part
        reached = self._base + len(self._buffer)
        decided = reached - self._secrets.reach
        if reached >= self.stop:
            decided = self._base + self._secrets.open_end(self._buffer) if self._may_open else self._end
        limit = min(self._end, decided)
        if limit <= self._position:
            return b""
        masked = self._secrets.masked(self._buffer)[self._position - self._base : limit - self._base]
        keep_from = max(self._base, limit - self._secrets.reach)
        self._buffer = self._buffer[keep_from - self._base :]
        self._base, self._position = keep_from, limit
        return masked


def _patterns(prefixes: Sequence[bytes]) -> tuple["re.Pattern[bytes]", ...]:
    """Beginnings of words. Those that begin alike share a pattern: two letters are found far faster than one of two."""
    alike: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for prefix in prefixes:
        alike[prefix[:2]].append(re.escape(prefix[2:]))
    return tuple(
        re.compile(re.escape(head) + b"(?:" + b"|".join(rests) + rb")(?=[\w.=-])") for head, rests in alike.items()
    )


def forms(value: str) -> Iterator[bytes]:
    """A value as it may stand in a log: itself, its longer lines, percent-encoded, and in base64 wherever it begins."""
    plain = value.encode()
    yield plain
    for text in {value, *value.splitlines()}:
        line = text.encode()
        if len(line) < _ENCODED_FROM:
            continue
        yield line
        yield from (quote(text, safe="").encode(), quote(text).encode(), quote_plus(text).encode())
        for encoded in _in_base64(line):
            yield from (encoded, encoded.translate(_URL_SAFE))


def _in_base64(value: bytes) -> Iterator[bytes]:
    """The letters that are the same whatever stands around the value; and all of them when it stands alone."""
    yield b64encode(value).rstrip(b"=")
    for before in range(3):
        groups, rest = divmod(before + len(value), 3)
        yield b64encode(bytes(before) + value)[_BEFORE[before] : groups * 4 + rest]


def _repeats_until(buffer: bytes, start: int, step: int) -> int:
    """Where bytes end, seen from `start`, that are each the same as the one `step` bytes before it."""
    end, length = start + step, max(step, 64)
    while length and end < len(buffer):
        piece = buffer[end : end + length]
        if piece == buffer[end - step : end - step + len(piece)]:
            end += len(piece)
        else:
            length //= 2
    return end


def _open_start(buffer: bytes, needle: bytes, longest: int) -> int:
    """Where the longest end of `buffer` starts that is a beginning of `needle` of at most `longest` bytes."""
    start = buffer.find(needle[:1], max(0, len(buffer) - longest))
    for _ in range(_FEW):
        if start < 0:
            return len(buffer)
        if needle.startswith(buffer[start:]):
            return start
        start = buffer.find(needle[:1], start + 1)
    return len(buffer) - (_overlap(needle, buffer[start:]) if start >= 0 else 0)


def _overlap(needle: bytes, text: bytes) -> int:
    """How long the longest end of `text` is that is a beginning of `needle`, which is no shorter than `text`.

    In linear time, with the failure function of Knuth, Morris and Pratt.
    """
    back = [0] * len(text)
    matched = 0
    for place in range(1, len(text)):
        while matched and needle[place] != needle[matched]:
            matched = back[matched - 1]
        matched += needle[place] == needle[matched]
        back[place] = matched
    matched = 0
    for byte in text:
        while matched and byte != needle[matched]:
            matched = back[matched - 1]
        matched += byte == needle[matched]
    return matched
