"""At which line of a log a moment is: by the stamps of its lines, or by the marks of its sections. Pure.

Source: docs/reference/runner-protocol.md, "Log text".
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from domain.logs.lines import STAMP
from domain.logs.sections import Mark

MAX_SECONDS: Final = 253_402_300_799
"""The end of the year 9999, since 1970."""
PROBE: Final = 4 * 1024
"""Bytes behind a line's beginning in which a stamp is looked for."""
_TIME: Final = len("2026-01-02T03:04:05.123456Z")
_LINE: Final = re.compile(rb"(?:\A|\n)(?:(" + STAMP + rb")([ +]))?")


def stamp_of(seconds: int) -> bytes:
    """A moment as stamps write it; those compare like the moments themselves."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()


def first_stamp(data: bytes) -> bytes | None:
    """The time of the first line of some that has one."""
    return next((found[1][:_TIME] for found in _LINE.finditer(data) if found[1] and found[2] == b" "), None)


def line_since(data: bytes, line: int, wanted: bytes) -> int | None:
    """The first of some whole lines that was printed at a moment or later; the first of all has number `line`."""
    line -= 1
    for found in _LINE.finditer(data):
        if found[2] == b"+":
            continue
        line += 1
        if found[1] and found[1][:_TIME] >= wanted:
            return line
    return None


def line_of_mark(marks: Iterable[Mark], seconds: int) -> int | None:
    """The line of the latest mark until a moment; the first line before all marks, None if there are none.

    Of marks of one second the last counts, which is where the next section begins.
    """
    known = list(marks)
    before = max(((one.seconds, one.line) for one in known if one.seconds <= seconds), default=(0, 1))
    return before[1] if known else None
