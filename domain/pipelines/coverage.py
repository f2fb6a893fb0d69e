"""What a log says of the code that tests have run. GitLab: "Code coverage", "Coverage regex patterns".

Stamps of runners are no part of what is searched: a pattern may ask where a line begins, and a date is full of numbers.
"""

import math
import re
from collections.abc import Sequence
from typing import Final

from domain.config.rules.patterns import Capturing
from domain.logs.lines import line_end, searched_lines

MAX_LINE: Final = 1024 * 1024
"""Bytes; a longer line counts as several."""
MAX_SEARCHED: Final = 512 * 1024 * 1024
"""Bytes of one log that its pattern may search; takes seconds."""
LINE_SEARCHED: Final = 1024 * 1024
TIMES_SEARCHED: Final = 64
"""Of a line so many bytes, and so many times its length: a pattern may search it again behind each match."""

_NUMBER: Final = re.compile(rb"\d+(?:\.\d+)?")


class CoverageSearch:
    """Looks for the coverage in a log, part by part from its end.

    The last line counts in which the pattern matches and has a number: the first number in the last group of the last
    match of that line.
    """

    def __init__(self, pattern: str) -> None:
        """`pattern` is `coverage` as it is written, with its slashes. Raises `Invalid` if it is none."""
        self._pattern = Capturing(pattern)
        self._rest = b""
        self._left = MAX_SEARCHED

    @property
    def gave_up(self) -> bool:
        """Whether there was too much to search: nothing will be found any more."""
        return self._left < 0

    def look(self, part: bytes, *, is_first: bool) -> float | None:
        """The coverage if it is in this part, which comes before those looked at so far. `is_first`: no more come."""
        data = part + self._rest
        end = line_end(data, 0, is_last=True)
        keeps = not is_first and (end >= 0 or len(data) < MAX_LINE)
        self._rest, data = _cut(data, end) if keeps else (b"", data)
        for line in reversed(searched_lines(data)):
            found = self._in_line(line)
            if found is not None or self.gave_up:
                return found
        return None

    def _in_line(self, line: bytes) -> float | None:
        most = min(self._left, LINE_SEARCHED + TIMES_SEARCHED * len(line))
        said, searched = self._pattern.last(line.removesuffix(b"\r"), most)
        self._left -= searched
        if searched > most:
            return None
        number = _NUMBER.search(said) if said is not None else None
        found = float(number[0]) if number is not None else math.inf
        return found if math.isfinite(found) else None


def _cut(data: bytes, end: int) -> tuple[bytes, bytes]:
    return (data, b"") if end < 0 else (data[:end], data[end + 1 :])


def average(values: Sequence[float]) -> str | None:
    """The coverage of a pipeline by those of its jobs, as GitLab writes it; None if no job has one."""
    return f"{sum(values) / len(values):.2f}" if values else None
