"""Where libyaml stumbled in a text, and the lines around it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

FARTHEST: Final = 200
"""Lines that are looked through above a fault."""


class Spot(NamedTuple):
    """A line and a column of the text, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Stumble:
    """What libyaml says: `problem` at `at`, met `context`, which began at `began`."""

    problem: str
    context: str
    at: Spot
    began: Spot | None
    lines: Sequence[str]

    def text(self, number: int) -> str:
        """A line by its number; empty beyond the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    @property
    def sign(self) -> str:
        """The character at the fault."""
        return self.text(self.at.line)[self.at.column - 1 : self.at.column]

    @property
    def is_first(self) -> bool:
        """Whether there is only indentation before the fault in its line."""
        return not self.text(self.at.line)[: self.at.column - 1].strip()


def line_above(stumble: Stumble, *, items: bool = False) -> int:
    """The number of the next line above that says something, or 0; items of lists count with `items` only."""
    first = stumble.at.line - 1
    for number in islice(range(first, 0, -1), FARTHEST):
        text = stumble.text(number).strip()
        if text and not text.startswith(("#", "---")) and (items or not text.startswith("- ")):
            return number
    return 0


def content(line: str) -> str:
    """A line without indentation and comment."""
    return re.sub(r"(^|\s)#.*", "", line).strip()


def indent(line: str) -> int:
    """Blanks before the first other character."""
    return len(line) - len(line.lstrip(" "))
