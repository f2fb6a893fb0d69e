"""What commands print: data on standard output, words on standard error, colour only on a terminal."""

import contextlib
import json
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

import typer

from cli.printable import printable
from domain.errors import Invalid
from domain.pipelines.shown_status import Shown
from files import durable


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table; `glyph` and `style` are for terminals only; programs read `plain` in place of the text."""

    text: str
    style: str = ""
    glyph: str = ""
    plain: str = ""


def state_cell(shown: Shown, status: str) -> Cell:
    """The state of a job or pipeline; programs read GitLab's name of it."""
    return Cell(shown.label, shown.style, shown.glyph, status)


def numbered_state(pipeline_id: int | None, label: str | None, status: str | None) -> Cell:
    """A pipeline with its state; nothing where there is none. An older server gives no label."""
    if pipeline_id is None:
        return Cell("")
    plain = f"{pipeline_id} {status or ''}".strip()
    return Cell(f"{pipeline_id} {label}" if label else plain, plain=plain)


def has_colour(stream: IO[str], *, no_color: bool = False) -> bool:
    """Whether colours may be written to a stream (no-color.org; `TERM=dumb` has none)."""
    refused = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not refused


def keep_private() -> None:
    """Secrets follow: a file that standard output or error was led to is read by its owner alone from now on."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            descriptor = stream.fileno()
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, durable.PRIVATE)


@dataclass(frozen=True, slots=True)
class Output:
    """Standard output and error of one command."""

    as_json: bool = False
    no_color: bool = False
    no_input: bool = False
    yes: bool = False

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks at standard output."""
        return sys.stdout.isatty()

    @property
    def may_ask(self) -> bool:
        """Whether there is somebody who can answer a question."""
        return not self.no_input and sys.stdin.isatty() and sys.stderr.isatty()

    def document(self, content: Any) -> None:
        """One JSON document, or one line of a stream of them."""
        sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def data(self, text: str) -> None:
        """One line of data."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def words(self, text: str) -> None:
        """Something that is for the person and no data."""
        typer.echo(text, err=True)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str | Cell]], empty: str = "") -> None:
        """Rows: in columns with a heading on a terminal, else one line each with tabs between and no heading."""
        cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
        if not cells:
            self.words(empty or "There are none.")
        elif self.is_terminal:
            self._columns(headings, cells)
        else:
            for row in cells:
                self.data("\t".join(printable(cell.plain or cell.text) for cell in row))

    def fields(self, values: Mapping[str, str | Cell]) -> None:
        """One thing, a line for each of its fields; what is empty is left out."""
        shown = {name: value if isinstance(value, Cell) else Cell(value) for name, value in values.items()}
        shown = {name: cell for name, cell in shown.items() if cell.text}
        if self.is_terminal:
            self._columns((), [[Cell(name, "dim"), cell] for name, cell in shown.items()])
            return
        for name, cell in shown.items():
            self.data(f"{name}\t{printable(cell.plain or cell.text)}")

    def confirm(self, question: str) -> None:
        """Go on only if the person says yes; `--yes` has said it. Raises `Invalid` where nobody can be asked."""
        if self.yes:
            return
        if not self.may_ask:
            raise Invalid(f"{question} Nobody can be asked here; to say yes add `--yes`.")
        typer.confirm(question, abort=True, err=True)

    def _columns(self, headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        coloured = has_colour(sys.stdout, no_color=self.no_color)
        table = Table(box=None, pad_edge=False, show_header=bool(headings), header_style="bold")
        for number in range(len(rows[0])):
            table.add_column(headings[number] if headings else "", overflow="fold")
        for row in rows:
            # Text, not markup: a name like `test: [linux, arm]` would lose its brackets
            table.add_row(*(Text(f"{cell.glyph} {printable(cell.text)}".strip(), cell.style) for cell in row))
        Console(no_color=not coloured, color_system="auto" if coloured else None, highlight=False).print(table)


PLAIN: Final = Output()
"""For commands without options of their own."""
