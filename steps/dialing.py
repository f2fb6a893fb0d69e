"""Reaches a step runner by any stream of bytes: a process that joins them with the socket, an `exec`, SSH.

gRPC dials addresses only. So it gets one of this machine, in a private folder, and each connection to it opens a
stream. A stream that is cut is a connection that is lost: gRPC opens another one with the next call.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import structlog

_SIZE: Final = 256 * 1024
_LAST_WORDS: Final = 5.0
"""Seconds for the other side to end when nobody reads from it any more."""

log = structlog.get_logger()


class ByteStream(Protocol):
    """Bytes in both directions."""

    async def read(self) -> bytes:
        """What comes next; nothing at the end. Raises `OSError` where that is no good end: it says why."""

    async def write(self, data: bytes) -> None:
        """Send bytes. Raises `OSError` where nobody takes them any more."""

    async def end(self) -> None:
        """Say that nothing more is sent."""

    async def close(self) -> None:
        """End it, whatever is under way."""


Open: TypeAlias = Callable[[], Awaitable[ByteStream]]
"""Opens a stream to a step runner. Raises `OSError` where that cannot be done."""


class ProcessStream:
    """The input and output of a process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Take a process with pipes for both."""
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._input, self._output = process.stdin, process.stdout

    async def read(self) -> bytes:
        """What it writes."""
        return await self._output.read(_SIZE)

    async def write(self, data: bytes) -> None:
        """Write to it."""
        self._input.write(data)
        await self._input.drain()

    async def end(self) -> None:
        """Close its input."""
        with contextlib.suppress(OSError, RuntimeError):
            self._input.write_eof()

    async def close(self) -> None:
        """Kill it."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self._input.close()
        with contextlib.suppress(
            OSError
        ):  # what broke it is known; the time is for a grandchild that has the pipe, too
            async with asyncio.timeout(_LAST_WORDS):
                await self._input.wait_closed()
        await self.process.wait()


def by_command(command: Sequence[str]) -> Open:
    """Streams to the processes of a command, such as `ssh HOST perdure step-runner proxy`."""

    async def open_process() -> ByteStream:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        return ProcessStream(process)

    return open_process


@asynccontextmanager
async def dialed(open_stream: Open) -> AsyncIterator[str]:
    """An address for gRPC, good until the block ends: each connection to it opens a stream."""
    connections: set[_Connection] = set()
    is_over = False

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if is_over:  # it was accepted last, and comes here only now
            writer.close()
            return
        connection = _Connection()
        connections.add(connection)
        try:
            await connection.carry(reader, writer, open_stream)
        finally:
            connections.discard(connection)

    with tempfile.TemporaryDirectory(prefix="perdure-dial-") as folder:
        path = Path(folder) / "s"
        async with await asyncio.start_unix_server(carry, path, limit=_SIZE):
            try:
                yield f"unix:{path}"
            finally:
                is_over = True
                await asyncio.gather(*[each.end() for each in connections])


class _Connection:
    """One connection of gRPC, and the stream that was opened for it."""

    def __init__(self) -> None:
        """Of the task that carries it."""
        self._task = asyncio.current_task()
        self._is_closing = False

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, open_stream: Open) -> None:
        """Bytes both ways, until the other side has no more; the stream is closed then, whenever `end` is called."""
        try:
            stream = await open_stream()
            sending = asyncio.create_task(_send(reader, stream))
            try:
                await _receive(stream, writer)
            finally:
                self._is_closing = True
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
                await stream.close()
        except OSError as error:
            log.warning("a step runner cannot be reached", error=str(error))
        finally:
            writer.close()

    async def end(self) -> None:
        """Carry nothing more. Returns when the stream is closed."""
        assert self._task is not None
        if not self._is_closing:
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def _receive(stream: ByteStream, writer: asyncio.StreamWriter) -> None:
    """All that comes. When nobody takes it here any more, the end is awaited still: it may say what was wrong."""
    while data := await stream.read():
        try:
            writer.write(data)
            await writer.drain()
        except OSError:
            break
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WORDS):
            while data and (data := await stream.read()):
                pass


async def _send(reader: asyncio.StreamReader, stream: ByteStream) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_SIZE):
            await stream.write(data)
    with contextlib.suppress(OSError):
        await stream.end()
