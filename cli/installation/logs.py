"""`perdure logs`: what the processes of this machine say, in one form whoever wrote it."""

import contextlib
import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from cli.printable import printable
from domain.errors import NotFound
from domain.text_lines import lines_of
from files.process_log import OWN_KEYS, shown_time
from pods.run_folder import SUPERVISOR, RunFolder
from pods.stack import stack
from settings import Settings

LOOK_EVERY: Final = 0.5
_LEVEL: Final = r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)"
_OURS: Final = re.compile(rf"(?P<time>\d{{4}}-\d\d-\d\d[T ][\d:]+[.,]\d+Z?) {_LEVEL} (?P<text>.*)")
"""Also with a comma and without a zone, as earlier versions wrote it."""
_EVENT: Final = re.compile(r"(?P<time>\d{4}-\d\d-\d\dT[\d:]+\.\d+Z) \[(?P<level>\w+) *\] (?P<text>.*)")
"""An event of an earlier version."""
_TEMPORAL: Final = re.compile(rf"time=(?P<time>\S+) level={_LEVEL} (?P<text>.*)")
_FORMS: Final = (_OURS, _EVENT, _TEMPORAL)
_WARN: Final = {"WARN": "WARNING"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A line with what belongs to it: a trace, or what a process wrote in no form at all."""

    time: str
    level: str
    process: str
    lines: tuple[str, ...] = field(default=())

    def shown(self) -> str:
        """As it is printed; further lines are indented."""
        first, *rest = map(printable, self.lines)
        line = f"{self.time:<27} {self.level:<8} {self.process:<10} {first}"
        return "\n".join([line, *(f"    {one}" for one in rest)])


def logs(settings: Settings, process: str, *, lines: int, follow: bool) -> None:
    """Print the last entries of a process, or of all of them by time. Raises `NotFound`."""
    folder = RunFolder(settings.home)
    names = [SUPERVISOR, *(child.name for child in stack(settings))]
    if process and process not in names:
        raise NotFound(f"There is no process {process!r} here, only {', '.join(names)}.")
    chosen = [process] if process else names
    readers = [_Reader(name, folder.log_path(name)) for name in chosen]
    found = sorted((entry for reader in readers for entry in reader.all()), key=lambda entry: entry.time)
    _print(found[-lines:] if lines else [])
    with contextlib.suppress(KeyboardInterrupt):
        while follow:
            time.sleep(LOOK_EVERY)
            _print(sorted((entry for reader in readers for entry in reader.new()), key=lambda entry: entry.time))


def _print(entries: Sequence[Entry]) -> None:
    for entry in entries:
        sys.stdout.write(entry.shown() + "\n")
    sys.stdout.flush()


class _Reader:
    """The log of one process, with the one that was put aside."""

    def __init__(self, name: str, path: Path) -> None:
        self._name, self._path = name, path
        self._offset = 0
        self._last = Entry("", "INFO", name)

    def all(self) -> Iterator[Entry]:
        """Everything that there is."""
        aside = self._path.with_suffix(".log.1")
        if aside.exists():
            with aside.open("rb") as file:
                yield from self._entries(file)
        yield from self.new()

    def new(self) -> Iterator[Entry]:
        """What was written since the last look; a line that is not whole yet is left for the next one."""
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) < self._offset:  # it was put aside
                    self._offset = 0
                file.seek(self._offset)
                yield from self._entries(self._whole(file))
        except FileNotFoundError:
            return

    def _whole(self, file: IO[bytes]) -> Iterator[bytes]:
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            self._offset += len(raw)
            yield raw

    def _entries(self, lines: Iterable[bytes]) -> Iterator[Entry]:
        held: Entry | None = None
        for raw in lines:
            line = raw.decode(errors="replace").rstrip("\r\n")
            found = read_line(self._name, line)
            if found is not None:
                if held is not None:
                    yield held
                held = self._last = found
            elif held is not None:
                held = replace(held, lines=(*held.lines, line))
            elif line:
                held = replace(self._last, lines=(line,))
        if held is not None:
            yield held


def read_line(process: str, line: str) -> Entry | None:
    """The entry that a line begins; None for one that belongs to the entry before."""
    if line.startswith("{"):
        return _of_json(process, line)
    for form in _FORMS:
        if found := form.match(line):
            level = found["level"].upper()
            return Entry(_time(found["time"]), _WARN.get(level, level), process, (found["text"],))
    return None


def _of_json(process: str, line: str) -> Entry | None:
    try:
        event = json.loads(line)
        values = [f"{name}={value}" for name, value in event.items() if name not in OWN_KEYS]
        lines = (" ".join([event["event"], *values]), *lines_of(event.get("exception") or ""))
        return Entry(_time(event["timestamp"]), event["level"].upper(), process, lines)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _time(text: str) -> str:
    """A moment in UTC as all lines have it; one without a zone is of this machine's."""
    try:
        return shown_time(datetime.fromisoformat(text.replace(",", ".")))
    except ValueError:
        return text
