"""The style sheet of the terminal colours: `python -m tests.api.pages.jobs.palette_sheet` writes it anew.

Text without a ground of its own is made readable on ours, in both themes; on a ground that the job chose it has the
colour that the job chose.
"""

from pathlib import Path
from typing import Final, TypeAlias

SHEET: Final = Path(__file__).parents[4] / "api/pages/static/styles/log-palette.css"
LIGHT: Final = (251, 251, 252)
DARK: Final = (11, 13, 15)
ENOUGH: Final = 4.5
"""Contrast of text, by WCAG 2.2, 1.4.3."""
_STEPS: Final = (0, 95, 135, 175, 215, 255)
_MOVES: Final = 20

Colour: TypeAlias = tuple[int, int, int]

_NAMED: Final = (
    "24292f cf222e 116329 7a4b00 0550ae 8250df 1b7c83 57606a 57606a a40e26 1a7f37 633c01 0969da a475f9 3192aa 6e7781",
    "8b949e ff7b72 5fd38d e3b341 79b8ff e39bff 56d4dd d0d4d8 9aa4ae ffa198 7ee2a8 f2cc60 a5d0ff edbcff 8be3ea ffffff",
    "000000 cd3131 0dbc79 e5e510 2472c8 bc3fbc 11a8cd e5e5e5 666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db ffffff",
)
"""The 16 colours that terminals choose: as text on light, as text on dark, and as they are."""


def hexadecimal(text: str) -> Colour:
    """The colour of six digits."""
    red, green, blue = bytes.fromhex(text)
    return red, green, blue


def palette() -> list[tuple[Colour, Colour, Colour]]:
    """Each colour as text on light, as text on dark, and as it is."""
    named = [tuple(hexadecimal(text) for text in row) for row in zip(*(part.split() for part in _NAMED), strict=True)]
    cube = [(red, green, blue) for red in _STEPS for green in _STEPS for blue in _STEPS]
    greys = [(8 + 10 * step,) * 3 for step in range(24)]
    first = [(readable(light, LIGHT), readable(dark, DARK), exact) for light, dark, exact in named]
    return [*first, *((readable(each, LIGHT), readable(each, DARK), each) for each in (*cube, *greys))]


def luminance(colour: Colour) -> float:
    """Relative luminance by WCAG."""
    red, green, blue = (
        part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Colour, other: Colour) -> float:
    """By WCAG: 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable(colour: Colour, ground: Colour) -> Colour:
    """The colour, moved towards black or white until it can be read; `scripts/log/colours.js` has the same rule."""
    goal = 0 if luminance(ground) > 0.5 else 255
    for step in range(_MOVES + 1):
        red, green, blue = (int(part + (goal - part) * step / _MOVES + 0.5) for part in colour)
        if contrast((red, green, blue), ground) >= ENOUGH:
            return red, green, blue
    return goal, goal, goal


def _shown(colour: Colour) -> str:
    return "#" + bytes(colour).hex()


def sheet() -> str:
    """The whole sheet."""
    text = [
        f".f{number}{{color:light-dark({_shown(light)},{_shown(dark)});--f:{_shown(exact)}}}"
        for number, (light, dark, exact) in enumerate(palette())
    ]
    grounds = [
        f".b{number}{{background:{_shown(exact)};--t:{'#000' if luminance(exact) > 0.18 else '#fff'}}}"
        for number, (_, _, exact) in enumerate(palette())
    ]
    head = "/* Terminal colours; made by tests/api/pages/jobs/palette_sheet.py. */"
    flags = (
        ".said .bold{font-weight:700}.said .dim{opacity:.75}.said .italic{font-style:italic}"
        ".said .underline{text-decoration:underline}.said .strike{text-decoration:line-through}"
        ".said .inverse{background:var(--log-text);color:var(--log-back)}.said .on{color:var(--f,var(--t))}"
    )
    return "\n".join((head, *text, *grounds, flags)) + "\n"


if __name__ == "__main__":
    SHEET.write_text(sheet())
