"""Where lines end in the bytes of a log, and what counts of a long one.

A line is what the job printed as one. A runner that stamps lines cuts some of them in pieces; a piece that goes on with
the line before is no line of its own. Source: docs/reference/runner-protocol.md, "Log text".
"""

import re
from typing import Final

HEAD: Final = 32 * 1024
TAIL: Final = 32 * 1024
"""Of a longer line only so many bytes at its beginning and at its end count, for whatever reads it."""
LONG: Final = HEAD + TAIL

STAMP: Final = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [0-9a-f]{2}[OE]"
CONTINUED: Final = re.compile(rb"\n" + STAMP + rb"\+")
"""A line that goes on: the runner wrote it in two pieces."""
_CONTINUATION: Final = re.compile(STAMP + rb"\+")
_SAMPLE: Final = b"0000-00-00T00:00:00.000000Z 00O+"
STAMP_LENGTH: Final = len(_SAMPLE)
_SHAPE: Final = bytes.maketrans(b"123456789abcdefE", b"000000000000000O")
"""Stamps look all alike so; texts that look alike may still be no stamps."""


def joined(data: bytes) -> bytes:
    """The text with the pieces of its lines put together."""
    return CONTINUED.sub(b"", data) if b"Z " in data else data


def line_end(data: bytes, start: int, *, is_last: bool) -> int:
    """Where the first newline from `start` on stands that ends a line; -1 if there is none, or it is not known yet.

    `is_last` says that nothing comes after `data`.
    """
    place = data.find(b"\n", start)
    while place >= 0:
        if not _goes_on(data, place):
            return place if is_last or not _may_go_on(data, place) else -1
        place = data.find(b"\n", place + 1)
    return -1


def last_line_end(data: bytes, start: int, stop: int, *, is_last: bool) -> int:
    """The same for the last newline between `start` and `stop`, of those that are known."""
    place = data.rfind(b"\n", start, stop)
    while place >= 0 and (_goes_on(data, place) or (not is_last and _may_go_on(data, place))):
        place = data.rfind(b"\n", start, place)
    return place


def _goes_on(data: bytes, newline: int) -> bool:
    return _CONTINUATION.match(data, newline + 1) is not None


def _may_go_on(data: bytes, newline: int) -> bool:
    """Whether what stands behind a newline is so short that it may become the beginning of a continuation."""
    begin = data[newline + 1 : newline + 1 + STAMP_LENGTH]
    return len(begin) < STAMP_LENGTH and _SAMPLE.startswith(begin.translate(_SHAPE))


def counted(line: bytes) -> tuple[bytes, bytes]:
    """The beginning and the end of a line that count; the end is empty when the whole line does.

    A newline at its end is not part of its length.
    """
    length = len(line) - line.endswith(b"\n")
    return (line, b"") if length <= LONG else (line[:HEAD], line[length - TAIL :])
