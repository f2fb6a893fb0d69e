"""Text of files as a page shows it: what would hide, or turn other text round, can be seen.

Source of the characters: Unicode's report 36 and "Trojan Source" (CVE-2021-42574).
"""

from typing import Final

_TURNING: Final = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks that change the direction in which text is shown."""
_WITHOUT_WIDTH: Final = (0x200B, 0x2060, 0xFEFF)
_CONTROLS: Final = (*range(9), *range(0x0B, 0x0D), *range(0x0E, 0x20))
"""All of ASCII but tab, newline and carriage return, which have pictures from U+2400 on."""
_RETURN: Final = 0x0D

_VISIBLE: Final = {
    **{code: f"[U+{code:04X}]" for code in (*_TURNING, *_WITHOUT_WIDTH, *range(0x80, 0xA0))},
    **{code: chr(0x2400 + code) for code in _CONTROLS},
    _RETURN: "\u240d",
    0x7F: "\u2421",
}
_DECEIVING: Final = frozenset(map(chr, (*_TURNING, *_WITHOUT_WIDTH)))


def visible(text: str) -> str:
    """A text with a sign for each character that nobody would see; tabs and newlines stay."""
    return text.translate(_VISIBLE)


def deceives(text: str) -> bool:
    """Whether a text holds characters that make it look other than it is."""
    return not _DECEIVING.isdisjoint(text)
