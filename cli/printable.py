"""Text from outside, made fit for a terminal or a picture."""

from typing import Final

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """The same text with a sign in place of each character that could steer a terminal; tabs become one blank."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else " " if one in "\t\n" else REPLACEMENT for one in text)
