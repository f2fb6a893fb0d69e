"""Text for a terminal as safe HTML: colours, links, and nothing else that a terminal would obey.

Text is escaped first; tags and classes come only from the tables here. Palette colours are the classes `f0` to `f255`
and `b0` to `b255`; a true colour is the nearest of these, with itself in `data-f` or `data-b` for a script to set.
"""

import html
import re
from typing import Final
from urllib.parse import urlsplit

from domain.logs.styles import PLAIN, TRUE, Colour, Style, changed

_TOKEN: Final = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]{0,255})m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # any other control sequence
    r"|\x1b\]8;[^;\x07\x1b]{0,200};(?P<link>[^\x07\x1b]{0,2000})(?:\x07|\x1b\\)"
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|(?P<turn>[\u200e\u200f\u202a-\u202e\u2066-\u2069])"  # they turn the text around them
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f]"
)
_ADDRESS: Final = re.compile(r"https?://[!#-;=?-\[\]_a-z~]{1,2000}")
_NOT_ITS_END: Final = ".,;:!?)]}*"
_LINK: Final = re.compile(r"https?://[!-~]{1,2000}", re.IGNORECASE)
_STEPS: Final = (0, 95, 135, 175, 215, 255)
"""Levels of the colour cube of the 256-colour palette."""


def rendered(text: str, style: Style) -> tuple[str, Style]:
    """One line as HTML, and the style after it."""
    line = _Line(style)
    position = 0
    for found in _TOKEN.finditer(text):
        line.write(text[position : found.start()])
        position = found.end()
        if found["sgr"] is not None:
            line.style = changed(line.style, found["sgr"])
        elif found["link"] is not None:
            line.link(found["link"])
        elif found["turn"]:
            line.parts.append(f'<span class="turn">U+{ord(found["turn"]):04X}</span>')
    line.write(text[position:])
    line.link("")
    return "".join(line.parts), line.style


class _Line:
    """A line that is being written."""

    def __init__(self, style: Style) -> None:
        self.parts: list[str] = []
        self.style = style
        self._in_link = False

    def write(self, text: str) -> None:
        if not text:
            return
        opening = _opening(self.style)
        if opening:
            self.parts.append(opening)
        self.parts.append(html.escape(text) if self._in_link else _with_addresses(text))
        if opening:
            self.parts.append("</span>")

    def link(self, target: str) -> None:
        """What is written from here on leads to `target`, if that is an address of the web; to nowhere otherwise."""
        if self._in_link:
            self.parts.append("</a>")
        opening = _anchor(target) if target else ""
        self._in_link = bool(opening)
        self.parts.append(opening)


def _with_addresses(text: str) -> str:
    if "://" not in text:
        return html.escape(text)
    parts: list[str] = []
    position = 0
    for found in _ADDRESS.finditer(text):
        address = found[0].rstrip(_NOT_ITS_END)
        opening = _anchor(address)
        if opening:
            parts += (html.escape(text[position : found.start()]), opening, html.escape(address), "</a>")
            position = found.start() + len(address)
    return "".join((*parts, html.escape(text[position:])))


def _anchor(target: str) -> str:
    """The tag of a link, which says where it leads; empty for what is no address of the web."""
    if not _LINK.fullmatch(target):
        return ""
    try:
        host = urlsplit(target).hostname
    except ValueError:
        return ""
    if not host:
        return ""
    shown = html.escape(target)
    return (
        f'<a href="{shown}" title="{shown}" data-host="{html.escape(host)}" target="_blank"'
        ' rel="noopener noreferrer nofollow">'
    )


def _opening(style: Style) -> str:
    if style == PLAIN:
        return ""
    foreground, background, flags = style.foreground, style.background, style.flags
    if "inverse" in flags and (foreground is not None or background is not None):
        foreground, background, flags = background, foreground, flags - {"inverse"}
    colours = [(kind, colour) for kind, colour in (("f", foreground), ("b", background)) if colour is not None]
    names = [f"{kind}{_palette(colour)}" for kind, colour in colours]
    if background is not None:
        names.append("on")
    exact = "".join(f' data-{kind}="{colour - TRUE:06x}"' for kind, colour in colours if colour >= TRUE)
    return f'<span class="{" ".join((*names, *sorted(flags)))}"{exact}>'


def _palette(colour: int) -> int:
    return colour if colour < TRUE else _nearest((colour >> 16) & 255, (colour >> 8) & 255, colour & 255)


def _nearest(*wanted: int) -> int:
    """The colour of the cube or the greys that is nearest."""
    cube = [_step(part) for part in wanted]
    grey = min(23, max(0, round((sum(wanted) / 3 - 8) / 10)))
    in_cube = sum((_STEPS[step] - part) ** 2 for step, part in zip(cube, wanted, strict=True))
    in_greys = sum((8 + 10 * grey - part) ** 2 for part in wanted)
    return 232 + grey if in_greys < in_cube else 16 + 36 * cube[0] + 6 * cube[1] + cube[2]


def _step(part: int) -> int:
    return min(range(6), key=lambda step: abs(_STEPS[step] - part))


def palette_colour(colour: Colour) -> tuple[int, int, int]:
    """Red, green and blue of a palette colour from 16 on, which are the same on all terminals."""
    assert colour is not None
    if colour >= 232:
        return (8 + 10 * (colour - 232),) * 3
    red, rest = divmod(colour - 16, 36)
    return _STEPS[red], _STEPS[rest // 6], _STEPS[rest % 6]
