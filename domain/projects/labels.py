"""Labels: their colors, by number or by name.

Source of the rules: GitLab's documentation of the labels API, and of CSS for the names.
"""

import re
from collections.abc import Mapping
from typing import Final

from domain.errors import FieldsInvalid

DEFAULT_COLOR: Final = "#6699cc"
"""Of a label that comes to be because a merge request is given it, as in GitLab."""
MAX_NAME: Final = 255
_NUMBER: Final = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_NAMED: Final[Mapping[str, str]] = {
    "black": "#000000",
    "silver": "#c0c0c0",
    "gray": "#808080",
    "white": "#ffffff",
    "maroon": "#800000",
    "red": "#ff0000",
    "purple": "#800080",
    "fuchsia": "#ff00ff",
    "green": "#008000",
    "lime": "#00ff00",
    "olive": "#808000",
    "yellow": "#ffff00",
    "navy": "#000080",
    "blue": "#0000ff",
    "teal": "#008080",
    "aqua": "#00ffff",
    "orange": "#ffa500",
}


def color_of(text: str) -> str:
    """A color as it is kept. Raises `Invalid`."""
    if _NUMBER.fullmatch(text):
        return text
    known = _NAMED.get(text.lower())
    if known is None:
        raise FieldsInvalid(color=f"is invalid: {text!r} is none; write #rrggbb, #rgb, or one of {', '.join(_NAMED)}.")
    return known


def text_color(color: str) -> str:
    """Black or white letters, whichever can be read upon a color."""
    digits = color.removeprefix("#")
    parts = [digits[place] * 2 for place in range(3)] if len(digits) == 3 else [digits[i : i + 2] for i in (0, 2, 4)]
    return "#1F1E24" if sum(int(part, 16) for part in parts) > 500 else "#FFFFFF"


def checked_name(name: str) -> str:
    """A name without blanks around it. Raises `Invalid`: lists of labels have commas between them."""
    found = name.strip()
    if not found or len(found) > MAX_NAME or "," in found:
        raise FieldsInvalid(name=f"is invalid: a label's has 1 to {MAX_NAME} characters and no comma.")
    return found
