"""Terminal colours and emphasis (SGR): what is in force after a text.

Source: ECMA-48, "SGR"; xterm, "Control Sequences"; ITU-T T.416 for the form with colons.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Self, TypeAlias

from domain.decimal_number import decimal_number

SGR: Final = re.compile(rb"\x1b\[([0-9;:]{0,255})m")
"""What changes colours; a sequence that is longer changes nothing."""
TRUE: Final = 1 << 24
"""A colour from here on is red, green and blue in a byte each; below 256 it is one of the palette."""
FLAGS: Final = ("bold", "dim", "italic", "underline", "inverse", "strike")
MAX_CODES: Final = 32
"""Codes of one sequence that are obeyed; xterm takes 30."""

_ON: Final = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_OFF: Final = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_RESETS: Final = (b"\x1b[0m", b"\x1b[m", b"\x1b[0;m")
_DIGITS: Final = 8

Colour: TypeAlias = int | None
"""None is the colour that text has by itself."""


@dataclass(frozen=True, slots=True)
class Style:
    """How text looks from here on."""

    foreground: Colour = None
    background: Colour = None
    flags: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """As a short text, `f196.b16777300.bold`; empty when nothing is in force."""
        colours = (("f", self.foreground), ("b", self.background))
        return ".".join((*(f"{kind}{colour}" for kind, colour in colours if colour is not None), *sorted(self.flags)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read such a text."""
        words = [word for word in text.split(".") if word]
        colours = {word[0]: int(word[1:]) for word in words if word not in FLAGS}
        return cls(colours.get("f"), colours.get("b"), frozenset(word for word in words if word in FLAGS))


PLAIN: Final = Style()
"""How a log begins."""


def style_after(data: bytes, style: Style) -> Style:
    """What is in force behind `data` where `style` was before it. What comes before the last reset is not looked at."""
    begin = data.rfind(b"\x1b[")
    if begin < 0:
        return style
    reset = max(data.rfind(sequence) for sequence in _RESETS)
    for found in SGR.finditer(data, max(0, reset)):
        style = changed(style, found[1].decode("ascii"))
    return style


@lru_cache(4096)
def changed(style: Style, parameters: str) -> Style:
    """The style behind `ESC [ parameters m`; what it does not know changes nothing."""
    codes = iter(parameters.split(";", MAX_CODES)[:MAX_CODES])
    for code in codes:
        if ":" in code:
            style = _with_parts(style, code.split(":", MAX_CODES))
            continue
        number = _number(code)
        if number in {38, 48}:
            colour = _colour(_number(next(codes, "")), (_number(text) for text in codes))
            style = _coloured(style, number, colour)
        else:
            style = _with_code(style, number)
    return style


def _number(text: str) -> int:
    """What is left out is 0; what is too long is no code of anything."""
    number = decimal_number(text or "0", _DIGITS)
    return 999 if number is None else number


def _with_parts(style: Style, parts: list[str]) -> Style:
    code, *numbers = (_number(part) for part in parts)
    if code in {38, 48} and numbers:
        rest = numbers[2:] if numbers[0] == 2 and len(numbers) > 4 else numbers[1:]  # with or without a colour space
        return _coloured(style, code, _colour(numbers[0], iter(rest)))
    if code == 4 and numbers:
        return _with_code(style, 4 if numbers[0] else 24)
    return style


def _colour(kind: int, numbers: Iterator[int]) -> Colour:
    """Take `n` of kind 5, or `r;g;b` of kind 2, off the front."""
    if kind == 5:
        return next((min(number, 255) for number in numbers), None)
    if kind == 2:
        parts = [min(number, 255) for _, number in zip(range(3), numbers, strict=False)]
        return TRUE | parts[0] << 16 | parts[1] << 8 | parts[2] if len(parts) == 3 else None
    return None


def _coloured(style: Style, code: int, colour: Colour) -> Style:
    if colour is None:
        return style
    return replace(style, foreground=colour) if code == 38 else replace(style, background=colour)


def _with_code(style: Style, code: int) -> Style:  # a table in words
    if code == 0:
        return PLAIN
    if code in _ON:
        return replace(style, flags=style.flags | {_ON[code]})
    if code in _OFF:
        return replace(style, flags=style.flags.difference(_OFF[code]))
    if 30 <= code <= 37 or 90 <= code <= 97:
        return replace(style, foreground=code - 30 if code < 40 else code - 82)
    if 40 <= code <= 47 or 100 <= code <= 107:
        return replace(style, background=code - 40 if code < 50 else code - 92)
    if code == 39:
        return replace(style, foreground=None)
    return replace(style, background=None) if code == 49 else style
