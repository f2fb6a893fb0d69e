"""The log of a run: what its commands write to stdout and stderr, byte by byte, in a file for each.

A third file says in which order pieces came, with 8 bytes for each: its length times two, plus one for stderr. Of two
pipes nobody can tell which was written first.

Commands write into pipes, not into the files: `> /dev/stderr` in a script would empty a file that it opens again.
"""

import os
import selectors
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from steps.engine.ending import Ending, Reason

STDOUT: Final = "stdout"
STDERR: Final = "stderr"
ORDER: Final = "order"
MAX_LOG: Final = 8 * 1024**3
"""Bytes of both files of a run together."""
_READ_SIZE: Final = 256 * 1024
ORDER_RECORD: Final = struct.Struct("<Q")


@dataclass(slots=True)
class LogFiles:
    """Two files that are appended to, and the pipes that are still open to commands, also to those left behind."""

    files: dict[str, int]
    ending: Ending
    max_size: int = MAX_LOG
    size: int = 0
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    echo: Callable[[str, bytes], None] | None = None
    """Hears of each piece with the name of its stream."""

    @contextmanager
    def pipes(self) -> Iterator[tuple[int, int]]:
        """Two pipes for one command, of which it gets the writing ends; they are closed here afterwards."""
        ends = []
        try:
            for name in (STDOUT, STDERR):
                reading, writing = os.pipe()
                ends.append(writing)
                os.set_blocking(reading, False)
                self.selector.register(reading, selectors.EVENT_READ, name)
            yield ends[0], ends[1]
        finally:
            for writing in ends:
                os.close(writing)

    def write(self, name: str, data: bytes) -> None:
        """Append to one of the files. The run ends when they are full, and nothing more is kept then."""
        kept = data[: max(0, self.max_size - self.size)]
        self.size += len(kept)
        _write(self.files[name], kept)
        if kept and self.echo is not None:
            self.echo(name, kept)
        if kept:
            _write(self.files[ORDER], ORDER_RECORD.pack(len(kept) << 1 | (name == STDERR)))
        if len(kept) < len(data):
            self.ending.end(Reason.LOG_FULL)

    def take(self, reading: int, name: str) -> None:
        """Append all that a pipe has now; one that nobody writes to any more is closed."""
        while True:
            try:
                data = os.read(reading, _READ_SIZE)
            except BlockingIOError:
                return
            if not data:
                self.selector.unregister(reading)
                os.close(reading)
                return
            self.write(name, data)
            if len(data) < _READ_SIZE:
                return  # whoever writes without end lets others be read, too

    def take_all(self) -> None:
        """Append what all pipes have now: a command that has ended has written all of it."""
        for key, _ in self.selector.select(0):
            if isinstance(key.data, str):
                self.take(key.fd, key.data)

    def close(self) -> None:
        """Close everything."""
        for key in list(self.selector.get_map().values()):
            if isinstance(key.data, str):
                os.close(key.fd)
        self.selector.close()
        for fd in self.files.values():
            os.close(fd)


def open_log(folder: Path, ending: Ending, max_size: int = MAX_LOG) -> LogFiles:
    """The files of a run's log in its folder, which nobody else may read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    files = {name: os.open(folder / name, flags, 0o600) for name in (STDOUT, STDERR, ORDER)}
    return LogFiles(files, ending, max_size)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
