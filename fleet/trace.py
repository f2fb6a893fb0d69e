"""The log of one job: a file on disk that only grows, with its size and CRC-32 at hand."""

import os
import time
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import StorageFull
from domain.masked_stream import Masker
from fleet.client import Output

GREEN, RED, YELLOW, CYAN, RESET = "\x1b[32;1m", "\x1b[31;1m", "\x1b[33m", "\x1b[36;1m", "\x1b[0;m"
CLEAR = "\x1b[0K"
DEFAULT_LIMIT = 4096 * 1024
"""Bytes of script output kept unless `output_limit` says otherwise."""
CRC_CHUNK = 1024 * 1024


class Trace:
    """Masked log on disk. `limit` (bytes) cuts the script's output, never the runner's own lines.

    An existing file is continued: its size and checksum are taken from what is on disk.
    """

    def __init__(
        self,
        file: Path,
        masker: Masker,
        *,
        limit: int = DEFAULT_LIMIT,
        sections: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`sections` turns the folding marks on (docs/reference/runner-protocol.md, "Log text")."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.file = file
        self._masker = masker
        self._limit = limit
        self._cut = False
        self._again = 0
        """So many of the next bytes the file has already."""
        self._sections = sections
        self._now = now
        self._fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.size, self._crc = self._measure()
        self._given = self.size
        """What the limit applies to: bytes that were written, before they were masked."""

    def checkpoint(self) -> int:
        """The size, as a place from which the same can be written again."""
        self._append(self._masker.flush())
        self._given = self.size
        return self.size

    def repeat_from(self, place: int) -> None:
        """What is written from here on was written before, from that place on: as far as it is there, it stays."""
        self._again, self._given = max(0, self.size - place), min(place, self.size)

    def repeat_no_more(self) -> None:
        """What is written from here on is new again."""
        self._append(self._masker.flush())
        self._again = 0

    def mask(self, secrets: Collection[str]) -> None:
        """Hide more secrets from here on."""
        if secrets:
            self._append(self._masker.flush())
            self._masker.add(secrets)

    def write_output(self, data: bytes) -> None:
        """Append output of a script; raises StorageFull when the disk takes no more."""
        if self._cut:
            return
        room = self._limit - self._given
        self._given += len(data)
        if len(data) > room:
            self._cut = True
            self._append(self._masker.feed(data[: max(0, room)]))
            self.write_line(f"{YELLOW}Job's log exceeded limit of {self._limit} bytes; the rest is left out.{RESET}")
            return
        self._append(self._masker.feed(data))

    def write_line(self, text: str) -> None:
        """Append a line of the runner itself; the limit does not apply to it."""
        self._append(self._masker.flush())
        self._given += len(text)
        self._append(self._masker.feed((text + "\n").encode()) + self._masker.flush())

    def warning(self, text: str) -> None:
        """Append a line about something that does not fail the job."""
        self.write_line(f"{YELLOW}WARNING: {text}{RESET}")

    def error(self, text: str) -> None:
        """Append a line about what fails the job."""
        self.write_line(f"{RED}ERROR: {text}{RESET}")

    @contextmanager
    def section(self, name: str, title: str) -> Iterator[None]:
        """Mark what is written inside as one foldable section."""
        self.begin_section(name, title, self._now())
        try:
            yield
        finally:
            self.end_section(name, self._now())

    def begin_section(self, name: str, title: str, at: float) -> None:
        """Mark where a section begins, at a time in unix seconds."""
        start = f"section_start:{int(at)}:{name}\r{CLEAR}" if self._sections else ""
        self.write_line(f"{start}{CLEAR}{CYAN}{title}{RESET}")

    def end_section(self, name: str, at: float) -> None:
        """Mark where it ends."""
        self._append(self._masker.flush())
        if self._sections:
            self._append(f"section_end:{int(at)}:{name}\r{CLEAR}".encode())

    def flush(self) -> None:
        """Write what the masker still holds back: nothing more comes from this process."""
        self._append(self._masker.flush())

    def read(self, offset: int, length: int) -> bytes:
        """At most `length` bytes of the stored log from byte `offset`."""
        return os.pread(self._fd, min(length, self.size - offset), offset)

    @property
    def output(self) -> Output:
        """Checksum and size of everything written so far."""
        return Output(self._crc, self.size)

    def close(self) -> None:
        """Close the file; it stays on disk."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def remove(self) -> None:
        """Close and delete the file: the server has all of it, or does not want it."""
        self.close()
        self.file.unlink(missing_ok=True)

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        if self._again:
            done = min(self._again, len(view))
            self._again, view = self._again - done, view[done:]
        while view:
            try:
                written = os.write(self._fd, view)
            except OSError as error:
                raise StorageFull(
                    f"the log {self.file} cannot be written ({error.strerror}); make room on the runner's disk"
                ) from error
            self._crc = zlib.crc32(view[:written], self._crc)
            self.size += written
            view = view[written:]

    def _measure(self) -> tuple[int, int]:
        size = crc = 0
        while data := os.pread(self._fd, CRC_CHUNK, size):
            crc = zlib.crc32(data, crc)
            size += len(data)
        return size, crc
