"""Lines of a log that say that something went wrong, as compilers, test programs and runners write them.

Stamps of runners are taken off before.
"""

import re
from collections.abc import Iterator
from typing import Final

_NEEDLES: Final = (b"rror", b"RROR", b"ERR!", b"fata", b"Fata", b"FATA", b"FAIL", b"ceba", b"xcep", b"anic")
"""One of these stands in each such line: looking for them is much faster than matching lines, and four letters are
found faster than more."""
MAX_LINE: Final = 400
"""Bytes around such a word that are looked at."""
_COLOURS: Final = rb"(?:\x1b\[[0-9;:]{0,40}[mK]|[ \t])*"
_ERROR: Final = re.compile(
    rb"\A" + _COLOURS + rb"(?:"
    rb"(?:ERROR|Error|error|FATAL|Fatal|fatal|FAIL|FAILED|FAILURE|panic)\b(?:[:\]! (\x1b]|\Z)"
    rb"|\[(?:ERROR|error|FATAL|fatal)\]"
    rb"|npm ERR!|Traceback \(most recent call last\)|--- FAIL:|BUILD FAILED"
    rb")"
    rb"|\b(?:fatal |internal |syntax )?(?:error|Error|ERROR|FATAL|fatal)(?:\[\w{1,12}\])?(?:\x1b\[[0-9;]{0,12}m)?:"
    rb"|\w(?:Error|Exception)(?:: |\Z)"
    rb"|::error|##\[error\]"
)
_VERDICT: Final = re.compile(rb"\A" + _COLOURS + rb"ERROR: Job failed")


def is_error(line: bytes) -> bool:
    """Whether a line, of which the beginning is enough, says that something went wrong."""
    return any(needle in line for needle in _NEEDLES) and _ERROR.search(line) is not None


def is_verdict(line: bytes) -> bool:
    """Whether the runner says here that the job has failed."""
    return _VERDICT.match(line) is not None


def error_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Where in whole lines such lines begin, and their text; of a long one what is around the word."""
    places = {needle: data.find(needle) for needle in _NEEDLES}
    while candidates := [place for place in places.values() if place >= 0]:
        place = min(candidates)
        begin = max(data.rfind(b"\n", max(0, place - MAX_LINE), place) + 1, place - MAX_LINE, 0)
        end = data.find(b"\n", place, place + MAX_LINE)
        text = data[begin : end if end >= 0 else place + MAX_LINE]
        if _ERROR.search(text):
            yield place, text
            line_end = data.find(b"\n", place)
            end = len(data) if line_end < 0 else line_end
        after = end if end >= 0 else place + MAX_LINE
        for needle, found in places.items():
            if 0 <= found < after:
                places[needle] = data.find(needle, after)
