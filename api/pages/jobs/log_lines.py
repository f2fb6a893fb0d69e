"""Lines of a log as HTML, each for itself. Pure.

A line's `\\r` is obeyed: what was overwritten is not shown. Marks of sections and stamps are taken out.
Source: docs/reference/runner-protocol.md, "Log text".
"""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.pages.jobs.ansi import rendered
from domain.logs.error_lines import MAX_LINE, is_error
from domain.logs.lines import HEAD, LINE_END, LONG, STAMP_LENGTH, STAMPED, TAIL, counted, joined
from domain.logs.sections import MARK
from domain.logs.styles import PLAIN, Style, style_after

_TIME_LENGTH: Final = len("2026-01-02T03:04:05.123456Z")


@dataclass(frozen=True, slots=True)
class Line:
    """`time` is when it was printed, in milliseconds since 1970, if its runner says so."""

    html: str
    time: int | None = None
    is_heading: bool = False
    is_error: bool = False


def lines_in(data: bytes, style: Style, skipped: int = 0, end: bytes | None = None) -> Iterator[Line]:
    """The lines that begin in `data`, without the first `skipped` ones.

    Where the last of them is so long that not all of it was read, `end` is what it ends with; `data` has
    `STAMP_LENGTH` bytes more of it than count then.
    """
    if end is not None and (newline := data.rfind(b"\n", max(0, len(data) - STAMP_LENGTH))) >= 0:
        data = data[:newline]  # it ends no line: what comes behind it is cut
    lines = _split(data)
    if not lines[-1] and end is None:
        lines.pop()
    for before in [b"\n".join(lines[:skipped])] if len(data) <= LONG else lines[:skipped]:
        for part in counted(before):
            style = style_after(joined(part), style)
    last = len(lines) - 1
    for number in range(skipped, len(lines)):
        line, style = rendered_line(lines[number], style, end if number == last else None)
        yield line


def rendered_line(line: bytes, style: Style, end: bytes | None = None) -> tuple[Line, Style]:
    """One line, and the style behind it."""
    begin, tail = counted(line) if end is None else (line[:HEAD], end.removesuffix(b"\n")[-TAIL:])
    begin, time = _unstamped(joined(begin))
    is_heading = any(found[1] == b"start" for found in MARK.finditer(begin))
    said, style = _folded(begin, style)
    shown, style = rendered(said, style)
    error = is_error(begin[: 4 * MAX_LINE])
    if tail:
        last, style = _folded(joined(tail), style)
        rest, style = rendered(last, style)
        shown = rest if b"\r" in tail.rstrip(b"\r") else f'{shown}<span class="cut"></span>{rest}'
    return Line(shown, time, is_heading, error), style


def _split(data: bytes) -> list[bytes]:
    """Lines without the newlines that end them; pieces of a line stay together."""
    return LINE_END.split(data) if b"Z " in data else data.split(b"\n")


def heading_of(text: str) -> str:
    """What a section is called, as HTML; `text` is what follows its mark."""
    said, style = _folded(text.encode("utf-8", "replace"), PLAIN)
    return rendered(said, style)[0]


def name_of(text: str) -> str:
    """A section's name for people who see no heading: `step_script` is `step script`."""
    return html.escape(text.replace("_", " "))


def _unstamped(line: bytes) -> tuple[bytes, int | None]:
    found = STAMPED.match(line)
    return (line, None) if found is None else (line[found.end() :], _milliseconds(found[1][:_TIME_LENGTH].decode()))


def _milliseconds(stamp: str) -> int | None:
    try:
        return round(datetime.fromisoformat(stamp).timestamp() * 1_000)
    except ValueError:
        return None  # the 31st of February


def _folded(line: bytes, style: Style) -> tuple[str, Style]:
    """What is left to see of a line, and the style before it."""
    text = MARK.sub(b"", line).rstrip(b"\r")
    overwritten, _, last = text.rpartition(b"\r")
    return last.decode("utf-8", "replace"), style_after(overwritten, style)
