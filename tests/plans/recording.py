"""Every statement that is sent while a block lasts, each once, with who sent it first."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

import greenlet  # type: ignore[import-untyped]
from sqlalchemy import Engine, event

_LIST: Final = re.compile(r"\((?:\$\d+(?:::[\w ]+)?|\?)(?:, (?:\$\d+(?:::[\w ]+)?|\?))*\)")
"""What `IN` is given, or a row of values: how many there are changes no plan."""
_NUMBER: Final = re.compile(r"\$\d+")
_OF_ROWS: Final = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b")
_ROOT: Final = f"{Path(__file__).resolve().parents[2]}/"
_BETWEEN: Final = ("models/s", "models/typed_rows", "models/repositories/paging", "models/repositories/row_rem")
"""Whose statements are those of whoever calls them."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A statement as the driver was given it; `place` is the function that asked for it."""

    text: str
    values: Sequence[Any]
    place: str


@dataclass(slots=True)
class Recording:
    """Statements by their shape, and the loops that have sent any."""

    statements: dict[str, Sent] = field(default_factory=dict)
    loops: set[str] = field(default_factory=set)

    def note(self, _connection: Any, _cursor: Any, text: str, values: Any, _context: Any, _many: bool) -> None:
        """Keep it if it is new."""
        modules = [(name, frame.f_code.co_name) for frame in _frames() if (name := _module(frame))]
        self.loops |= {name.removeprefix("loops.") for name, _ in modules if name.startswith("loops.")}
        if modules and _OF_ROWS.match(text) and (shape := _shape_of(text)) not in self.statements:
            first = values[0] if isinstance(values, list) else values
            place = ".".join(modules[0])
            values = tuple(bytes(value) if isinstance(value, memoryview) else value for value in first)
            self.statements[shape] = Sent(text, values, place)


def _shape_of(text: str) -> str:
    """What two statements have in common that differ by how many values they are given."""
    return _LIST.sub("(?)", _NUMBER.sub("$1", _LIST.sub("(?)", text)))


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record what every database of this process is told."""
    recording = Recording()
    event.listen(Engine, "before_cursor_execute", recording.note)
    try:
        yield recording
    finally:
        event.remove(Engine, "before_cursor_execute", recording.note)


def _module(frame: FrameType) -> str:
    """Of the code of a frame, if that is one that means what it sends; empty else."""
    file = frame.f_code.co_filename
    name = file.removeprefix(_ROOT).removesuffix(".py")
    if not file.startswith(_ROOT) or name.startswith((*_BETWEEN, "tests/", ".venv/")):
        return ""
    return name.removeprefix("models/repositories/").replace("/", ".")


def _frames() -> Iterator[FrameType]:
    """From here outwards; what waits for an asynchronous driver does so in a greenlet of its own."""
    current = greenlet.getcurrent()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
        if frame is None and current.parent is not None:
            current = current.parent
            frame = current.gr_frame
