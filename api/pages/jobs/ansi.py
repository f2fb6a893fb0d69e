"""Terminal colours (SGR) as safe HTML.

Text is escaped first; tags and classes come only from the tables here. Everything else that a terminal would obey
(cursor movements, titles, links, control characters) is dropped.
"""

import html
import re
from collections import deque
from dataclasses import dataclass, replace
from typing import Final, Self

_ESCAPE: Final = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # any other control sequence
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f]"
)

_FLAGS: Final = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_FLAGS_OFF: Final = {
    22: frozenset({"bold", "dim"}),
    23: frozenset({"italic"}),
    24: frozenset({"underline"}),
    27: frozenset({"inverse"}),
    29: frozenset({"strike"}),
}
_FOREGROUND: Final = {code: f"f{code - 30}" for code in range(30, 38)} | {c: f"f{c - 82}" for c in range(90, 98)}
_BACKGROUND: Final = {code: f"b{code - 40}" for code in range(40, 48)} | {c: f"b{c - 92}" for c in range(100, 108)}
_STEPS: Final = (0, 95, 135, 175, 215, 255)
"""Levels of the colour cube of the 256-colour palette."""
_PALETTE: Final = (
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
)
"""xterm's 16 colours. Finer ones become the nearest of these, which both themes can make readable."""
MAX_CODES: Final = 32
"""Codes of one sequence that are obeyed; xterm takes 30."""
CLASSES: Final = frozenset({*_FLAGS.values(), *_FOREGROUND.values(), *_BACKGROUND.values()})


@dataclass(frozen=True, slots=True)
class Style:
    """How text looks from here on, as names of classes."""

    foreground: str = ""
    background: str = ""
    flags: frozenset[str] = frozenset()

    @property
    def classes(self) -> tuple[str, ...]:
        """All class names, in a fixed order."""
        return (*filter(None, (self.foreground, self.background)), *sorted(self.flags))

    @classmethod
    def from_classes(cls, names: list[str]) -> Self:
        """The style of these class names; names that do not exist are left out."""
        known = [name for name in names if name in CLASSES]
        foreground = next((name for name in known if name in _FOREGROUND.values()), "")
        background = next((name for name in known if name in _BACKGROUND.values()), "")
        return cls(foreground, background, frozenset(name for name in known if name in _FLAGS.values()))


PLAIN: Final = Style()
"""How a log begins."""


def rendered(text: str, style: Style) -> tuple[str, Style]:
    """One line as HTML, and the style after it."""
    parts: list[str] = []
    position = 0
    for found in _ESCAPE.finditer(text):
        parts.append(_marked(text[position : found.start()], style))
        position = found.end()
        if found["sgr"] is not None:
            style = _changed(style, found["sgr"])
    parts.append(_marked(text[position:], style))
    return "".join(parts), style


def _marked(text: str, style: Style) -> str:
    if not text:
        return ""
    escaped = html.escape(text)
    return f'<span class="{" ".join(style.classes)}">{escaped}</span>' if style.classes else escaped


def _changed(style: Style, parameters: str) -> Style:
    codes = deque(int(code[:6]) if code else 0 for code in re.split("[;:]", parameters, maxsplit=MAX_CODES)[:MAX_CODES])
    while codes:
        code = codes.popleft()
        if code in {38, 48}:
            colour = _fine_colour(codes)
            if colour is not None and code == 38:
                style = replace(style, foreground=f"f{colour}")
            elif colour is not None:
                style = replace(style, background=f"b{colour}")
        else:
            style = _with_code(style, code)
    return style


def _with_code(style: Style, code: int) -> Style:
    if code == 0:
        return PLAIN
    if code in _FLAGS:
        return replace(style, flags=style.flags | {_FLAGS[code]})
    if code in _FLAGS_OFF:
        return replace(style, flags=style.flags - _FLAGS_OFF[code])
    if code == 39 or code in _FOREGROUND:
        return replace(style, foreground=_FOREGROUND.get(code, ""))
    if code == 49 or code in _BACKGROUND:
        return replace(style, background=_BACKGROUND.get(code, ""))
    return style


def _fine_colour(codes: deque[int]) -> int | None:
    """Take `5;n` or `2;r;g;b` off the front; the nearest of the 16 colours."""
    kind = codes.popleft() if codes else 0
    if kind == 5 and codes:
        return _of_256(min(codes.popleft(), 255))
    if kind == 2 and len(codes) >= 3:
        return _nearest(codes.popleft(), codes.popleft(), codes.popleft())
    return None


def _of_256(number: int) -> int:
    if number < 16:
        return number
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return _nearest(grey, grey, grey)
    red, rest = divmod(number - 16, 36)
    return _nearest(_STEPS[red], _STEPS[rest // 6], _STEPS[rest % 6])


def _nearest(red: int, green: int, blue: int) -> int:
    def distance(index: int) -> int:
        r, g, b = _PALETTE[index]
        return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2

    return min(range(len(_PALETTE)), key=distance)
