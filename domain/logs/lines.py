"""Where lines end in the bytes of a log, and what counts of a long one.

A line is what the job printed as one. A runner that stamps lines cuts some of them in pieces; a piece that goes on with
the line before is no line of its own. Source: docs/reference/runner-protocol.md, "Log text". What stamps look like is
known here alone.
"""

import re
from typing import Final

HEAD: Final = 32 * 1024
TAIL: Final = 32 * 1024
"""Of a longer line only so many bytes at its beginning and at its end count, for whatever reads it."""
LONG: Final = HEAD + TAIL

STAMP: Final = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [0-9a-f]{2}[OE]"
STAMPED: Final = re.compile(rb"(" + STAMP + rb")([ +])")
"""How a line begins; the second group is a plus where it goes on with the line before."""
_STAMPED_NEXT: Final = re.compile(rb"\n" + STAMP + rb"[ +]")
CONTINUED: Final = re.compile(rb"\n" + STAMP + rb"\+")
"""A line that goes on: the runner wrote it in two pieces."""
LINE_END: Final = re.compile(rb"\n(?!" + STAMP + rb"\+)")
"""A newline that ends a line."""
_CONTINUATION: Final = re.compile(STAMP + rb"\+")
_STREAM: Final = len("01O")
_SAMPLE: Final = b"0000-00-00T00:00:00.000000Z 00O+"
STAMP_LENGTH: Final = len(_SAMPLE)
_SHAPE: Final = bytes.maketrans(b"123456789abcdefE", b"000000000000000O")
"""Stamps look all alike so; texts that look alike may still be no stamps."""


def joined(data: bytes) -> bytes:
    """The text with the pieces of its lines put together."""
    return CONTINUED.sub(b"", data) if b"Z " in data else data


def unstamped(data: bytes) -> bytes:
    """The text of whole lines as the job printed it."""
    return _STAMPED_NEXT.sub(b"\n", b"\n" + joined(data))[1:] if b"Z " in data else data


def searched_lines(data: bytes) -> list[bytes]:
    """Lines without stamps as GitLab looks for something in each, but for pieces of one that is only too long.

    What streams print between each other's pieces stays apart, and what follows a carriage return at a piece's end.
    """
    lines = data.split(b"\n")
    if b"Z " not in data:
        return lines
    found: list[list[bytes]] = []
    stream = b""
    for line in lines:
        stamp = STAMPED.match(line)
        text = line if stamp is None else line[stamp.end() :]
        before, stream = stream, b"" if stamp is None else stamp[1][-_STREAM:]
        if stamp is not None and stamp[2] == b"+" and stream == before and not found[-1][-1].endswith(b"\r"):
            found[-1].append(text)
        else:
            found.append([text])
    return [b"".join(pieces) for pieces in found]


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
    return may_become_stamp(data[newline + 1 : newline + 1 + STAMP_LENGTH])


def may_become_stamp(line: bytes) -> bool:
    """Whether a line that has not ended is so short that its stamp, and whether it goes on, may not be whole yet."""
    return len(line) < STAMP_LENGTH and _SAMPLE.startswith(line.translate(_SHAPE))


def counted(line: bytes) -> tuple[bytes, bytes]:
    """The beginning and the end of a line that count; the end is empty when the whole line does.

    A newline at its end is not part of its length.
    """
    length = len(line) - line.endswith(b"\n")
    return (line, b"") if length <= LONG else (line[:HEAD], line[length - TAIL :])
