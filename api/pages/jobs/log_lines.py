"""A piece of a log as HTML lines. Pure; what must be known for the next piece is in a small text, the state.

Source: docs/reference/runner-protocol.md, "Log text".
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from api.pages.jobs.ansi import PLAIN, Style, rendered
from domain.decimal_number import decimal_number

_STAMP: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [0-9a-f]{2}[OE]"
_CONTINUED: Final = re.compile(rf"\n{_STAMP}\+")
"""A line that goes on: the runner wrote it in two pieces."""
_STAMPED: Final = re.compile(rf"^{_STAMP}[ +]")
_MARKER: Final = re.compile(r"(?:\x1b\[0K)?section_(start|end):\d+:[^\r\n]*?\r(?:\x1b\[0K)?")
_MAX_STATE: Final = 200
_LINE_DIGITS: Final = 11


@dataclass(frozen=True, slots=True)
class State:
    """Where a piece begins: number of its first line (0: not known) and the style that is in force."""

    line: int = 1
    style: Style = PLAIN

    def __str__(self) -> str:
        """As text for an address: `12.f1.bold`."""
        return ".".join((str(self.line), *self.style.classes))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read such a text, whoever wrote it; what makes no sense is left out."""
        number, *names = text[:_MAX_STATE].split(".")
        line = decimal_number(number, _LINE_DIGITS) or 0
        return cls(line, Style.from_classes(names))


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines as HTML; `tail` is the unfinished one after them, from byte `consumed` of the piece on."""

    html: str
    tail: str
    consumed: int
    state: State


def render_piece(data: bytes, state: State, *, whole: bool) -> Piece:
    """Render a piece that begins at a line. `whole` says that a last line without its end is a line all the same."""
    cut = len(data) if whole else data.rfind(b"\n") + 1
    html, after = _lines(data[:cut], state)
    tail, _ = _lines(data[cut:], after)
    return Piece(html, tail, cut, after)


def _lines(data: bytes, state: State) -> tuple[str, State]:
    if not data:
        return "", state
    text = _CONTINUED.sub("", data.decode("utf-8", "replace"))
    lines: list[str] = []
    number, style = state.line, state.style
    for line in text.removesuffix("\n").split("\n"):
        content, style, is_heading = _line(_STAMPED.sub("", line), style)
        if content is None:
            continue
        anchor = f' id="L{number}"' if number else ""
        kind = "line heading" if is_heading else "line"
        lines.append(f'<div class="{kind}"{anchor}>{content}</div>')
        number += bool(number)
    return "".join(lines), State(number, style)


def _line(text: str, style: Style) -> tuple[str | None, Style, bool]:
    """One line: HTML (None when it held nothing but the end of a section), style after it, whether it is a heading."""
    # No marker is looked for where its end cannot come: each beginning would be followed to the end of the line.
    marked, end, rest = text.rpartition("\r")
    kinds = [found[1] for found in _MARKER.finditer(marked + end)]
    text = _MARKER.sub("", marked + end) + rest
    *overwritten, last = text.rstrip("\r").split("\r")
    for part in overwritten:
        _, style = rendered(part, style)
    html, style = rendered(last, style)
    if kinds and not html:
        return None, style, False
    return html, style, "start" in kinds
