"""Follows a run from any place on: results, bytes of either stream, or both in their order. It ends with the run."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import orjson

from domain.errors import Invalid, NotFound
from steps.engine.log_files import ORDER, ORDER_RECORD, STDERR, STDOUT
from steps.engine.run_folder import RESULTS
from steps.service.watching import Watched

CHUNK: Final = 256 * 1024
"""Bytes of one message; four of 64 KiB take twice as long."""
MAX_LINE: Final = 16 * 1024 * 1024
"""Bytes of a line of results; no run writes one as long."""
_RECORDS: Final = 8_192
"""Bytes of records that are read at once."""


async def follow_results(watched: Watched, read: int) -> AsyncIterator[dict[str, Any]]:
    """The results from the one after the first `read` on, each as a line of the file has it."""
    lines = ResultLines(watched)
    async for has_ended in looks(watched):
        async for number, line in lines.until(watched.sizes[RESULTS]):
            if number > read:
                yield line
        if has_ended:
            return


async def follow_streams(watched: Watched, stdout: int, stderr: int) -> AsyncIterator[tuple[str, bytes]]:
    """Bytes of both streams from these offsets on, in turn.

    Raises `Invalid` for an offset behind the end of a run that has ended.
    """
    offsets = {STDOUT: stdout, STDERR: stderr}

    def behind() -> list[str]:
        return [name for name, offset in offsets.items() if offset < watched.sizes[name]]

    async for has_ended in looks(watched):
        while names := behind():
            for name in names:
                data = await _there(watched, name, offsets[name])
                offsets[name] += len(data)
                yield name, data
        if has_ended:
            _check_end(watched, offsets)
            return


async def follow_log(watched: Watched, offset: int) -> AsyncIterator[bytes]:
    """Bytes of both streams in the order in which they were written, from this offset on. Raises `Invalid` likewise."""
    order = Order(watched)
    skipped = offset

    async for has_ended in looks(watched):
        async for name, length in order.pieces(log_size(watched.sizes), is_whole=has_ended):
            done = min(skipped, length)
            skipped -= done
            async for data in order.take(name, length, done):
                yield data
        if has_ended:
            check_no_more(skipped, offset)
            return


def log_size(sizes: Mapping[str, int]) -> int:
    """Bytes of both streams."""
    return sizes[STDOUT] + sizes[STDERR]


class ResultLines:
    """The file of results, line by line, as far as it was handed out."""

    def __init__(self, watched: Watched) -> None:
        """From the first one on."""
        self._watched = watched
        self._rest = b""
        self._number = 0
        self.offset = 0

    async def until(self, size: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        """The next ones, as far as the file has `size` bytes, with their numbers from 1 on."""
        while self.offset < size:
            data = await _there(self._watched, RESULTS, self.offset, min(CHUNK, size - self.offset))
            self.offset += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._number += 1
                yield self._number, self._read(line)
            if len(self._rest) > MAX_LINE:
                raise self._changed()

    def _read(self, line: bytes) -> dict[str, Any]:
        try:
            document = orjson.loads(line)
            if isinstance(document["result"], dict) and document[STDOUT] >= 0 and document[STDERR] >= 0:
                return dict(document)
        except (KeyError, TypeError, ValueError):
            pass
        raise self._changed()

    def _changed(self) -> NotFound:
        return NotFound(f"the results of run {self._watched.folder.path.name} are not what they were")


class Order:
    """The pieces of a log in their order, as far as they were handed out."""

    def __init__(self, watched: Watched) -> None:
        """From the first one on."""
        self._watched = watched
        self._at = 0
        self.offsets = {STDOUT: 0, STDERR: 0}
        """How much of each stream the pieces had that were handed out."""

    @property
    def position(self) -> int:
        """Bytes of the log that were handed out."""
        return sum(self.offsets.values())

    async def take(self, name: str, length: int, skipped: int) -> AsyncIterator[bytes]:
        """The bytes of the piece that comes next, but for the first `skipped` ones."""
        start = self.offsets[name] + skipped
        end = self.offsets[name] = self.offsets[name] + length
        while start < end:
            data = await _there(self._watched, name, start, min(CHUNK, end - start))
            start += len(data)
            yield data

    async def pieces(self, size: int, *, is_whole: bool) -> AsyncIterator[tuple[str, int]]:
        """Stream and length of the next pieces of the first `size` bytes, each to be taken before the next one.

        With `is_whole` also of what was written and whose order was not.
        """
        while data := await _read(self._watched, ORDER, self._at, _RECORDS):
            data = data[: len(data) - len(data) % ORDER_RECORD.size]
            if not data:
                break
            for (record,) in ORDER_RECORD.iter_unpack(data):
                if self.position + (record >> 1) > size:
                    return
                self._at += ORDER_RECORD.size
                yield (STDERR if record & 1 else STDOUT), record >> 1
        if is_whole:
            for name in (STDOUT, STDERR):
                if left := self._watched.sizes[name] - self.offsets[name]:
                    yield name, left


async def looks(watched: Watched) -> AsyncIterator[bool]:
    """Whether the run has ended, each time that there may be more to read; the last time that it has.

    Whoever reads takes all that one look has shown, but for a piece of which it has shown a part: the rest of that is
    waited for, like all else. They never ask again at once: the next look would not come.
    """
    while True:
        seen = watched.has_ended, watched.sizes
        yield seen[0]
        if (watched.has_ended, watched.sizes) == seen:
            await watched.change()


def check_no_more(skipped: int, offset: int) -> None:
    """Raise `Invalid` where a run has ended and bytes that a caller says to have were never written."""
    if skipped:
        raise Invalid(f"the run wrote {offset - skipped:,} bytes; there is nothing from {offset:,} on")


def _check_end(watched: Watched, offsets: Mapping[str, int]) -> None:
    for name, offset in offsets.items():
        if offset > watched.sizes[name]:
            raise Invalid(f"the run wrote {watched.sizes[name]:,} bytes to {name}; there is nothing from {offset:,} on")


async def _read(watched: Watched, name: str, offset: int, size: int = CHUNK) -> bytes:
    """Bytes of a file of the run; nothing where it has not been made yet.

    What was just written is in the memory of the machine, and read at once; a thread waits for a disk. Raises
    `NotFound` where the run was closed, or its steps have put something else in the place of the file.
    """
    try:
        return _read_now(watched, name, offset, size, os.RWF_NOWAIT)
    except OSError:  # it is not in memory, or this kind of file system does not tell
        pass
    try:
        return await asyncio.to_thread(_read_now, watched, name, offset, size)
    except OSError as error:
        raise NotFound(f"the {name} of run {watched.folder.path.name} cannot be read: {error.strerror}") from None


async def _there(watched: Watched, name: str, offset: int, size: int = CHUNK) -> bytes:
    """Bytes that are known to be there. Raises `NotFound` likewise, and where the file has become shorter."""
    data = await _read(watched, name, offset, size)
    if not data:
        raise NotFound(f"the {name} of run {watched.folder.path.name} is shorter than it was")
    return data


def _read_now(watched: Watched, name: str, offset: int, size: int, flags: int = 0) -> bytes:
    path = watched.folder.path
    try:
        fd = os.open(path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if path.exists():
            return b""
        raise NotFound(f"the run {path.name} was closed") from None
    try:
        buffer = bytearray(size)
        count = os.preadv(fd, [buffer], offset, flags)
    finally:
        os.close(fd)
    return bytes(memoryview(buffer)[:count])
