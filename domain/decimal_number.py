"""Numbers that come as text from outside."""

from typing import Final

DIGITS: Final = 15
"""Of any id or size that we keep; all such numbers are below `2**53`, which every database and reader of JSON takes."""


def decimal_number(text: str, digits: int = DIGITS) -> int | None:
    """The number that ASCII digits alone say; None for any other text, and for more digits than anything has here."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None
