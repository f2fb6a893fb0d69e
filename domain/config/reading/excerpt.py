"""Lines of a text with their numbers and a caret under a place, as plain text."""

from collections.abc import Sequence
from typing import Final
from unicodedata import east_asian_width

from domain.config.reading.tree import Place

WIDEST: Final = 120
"""Characters of a line that are shown around the place."""
BEFORE: Final = 60
"""Of them, those before the place when the line is longer."""
_MARGIN: Final = 6
"""Characters for the number of a line."""
_TAB: Final = "→"


def excerpt(lines: Sequence[str], place: Place, also: int = 0) -> str:
    """The line of a place with a caret under it, and the line `also` if that is another one, in their order.

    A tab is shown as an arrow; what could steer a terminal as a replacement character. Empty beyond the text.
    """
    shown = []
    for number in sorted({place.line, also}):
        if not 0 < number <= len(lines):
            continue
        column = place.column if number == place.line else 1
        piece, caret = cropped(lines[number - 1], max(1, column))
        shown.append(f"{number:>{_MARGIN}} | {_visible(piece)}")
        if number == place.line:
            shown.append(f"{'':>{_MARGIN}} | {' ' * _width(_visible(piece[: caret - 1]))}^")
    return "\n".join(shown)


def cropped(line: str, column: int) -> tuple[str, int]:
    """A piece of a line around a column, and the column in it."""
    line = line.rstrip("\r")
    if len(line) <= WIDEST:
        return line, min(column, len(line) + 1)
    start = max(0, min(column - 1 - BEFORE, len(line) - WIDEST))
    before, after = ("…" if start else ""), ("…" if start + WIDEST < len(line) else "")
    return before + line[start : start + WIDEST] + after, min(column, len(line) + 1) - start + len(before)


def _visible(text: str) -> str:
    return "".join(one if one.isprintable() else _TAB if one == "\t" else "\N{REPLACEMENT CHARACTER}" for one in text)


def _width(text: str) -> int:
    return sum(2 if east_asian_width(one) in {"W", "F"} else 1 for one in text)
