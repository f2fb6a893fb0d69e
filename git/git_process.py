"""A running git whose three ends are streams of the event loop."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

from git.turns import STREAMS

STDERR_LIMIT: Final = 16 * 1024
"""Bytes of standard error that are kept for messages; the rest is read and dropped."""
STOP_PATIENCE: Final = 5.0
"""Seconds that git has to remove its lock files after SIGTERM before it is killed."""
CHUNK: Final = 64 * 1024

_ENDS: Final = ThreadPoolExecutor(STREAMS.at_once, thread_name_prefix="git-end")
"""A thread waits for the end of each."""

_Reading = tuple[asyncio.StreamReader, asyncio.ReadTransport]


def begin(arguments: Sequence[str | Path], variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start `git ARGUMENTS` with pipes on all three ends. Raises FileNotFoundError when there is no git command.

    Not by the event loop: uvloop copies the whole server for that, threads' locks included, and now and then the copy
    waits for one whose thread it does not have, for ever, and the server for the copy. `Popen` copies nothing (vfork).
    """
    pipe = subprocess.PIPE
    return subprocess.Popen(
        ("git", *arguments),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd="/",
        env=variables,
        start_new_session=True,
        bufsize=0,
    )


async def with_streams(process: "subprocess.Popen[bytes]") -> "GitProcess":
    """Read and write its pipes by the event loop."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        stdin, out, err = await _writer(process.stdin), await _reader(process.stdout), await _reader(process.stderr)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return GitProcess(process, stdin, out, err)


async def _writer(pipe: IO[bytes]) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _reader(pipe: IO[bytes]) -> _Reading:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
    return reader, transport


class GitProcess:
    """A running git; `err` fills while it runs."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        stdin: asyncio.StreamWriter,
        out: _Reading,
        err: _Reading,
    ) -> None:
        """Start to read stderr at once, so that a talkative git never blocks on it."""
        self.stdin = stdin
        self.stdout = out[0]
        self._transports = out[1], err[1]
        self._process = process
        self._ended: asyncio.Future[Any] = asyncio.get_running_loop().run_in_executor(_ENDS, process.wait)
        self._err = bytearray()
        self._reading = asyncio.create_task(self._read_err(err[0]))

    @property
    def err(self) -> str:
        """What git said on stderr so far, as text without trailing blanks."""
        return self._err.decode("utf-8", "replace").strip()

    async def feed(self, chunks: AsyncIterator[bytes]) -> None:
        """Write everything to stdin and close it; what `chunks` raises goes on to the caller.

        A git that has stopped reading is no error here: its exit code and stderr say why.
        """
        async for chunk in chunks:
            try:
                self.stdin.write(chunk)
                await self.stdin.drain()
            except (BrokenPipeError, ConnectionResetError):
                return
        self.stdin.close()

    async def wait(self) -> int:
        """Wait for the end; the exit code, negative for a signal."""
        code: int = await asyncio.shield(self._ended)
        await self._reading
        return code

    def terminate(self) -> None:
        """Ask git and its children to end; they remove their lock files and half-received packs."""
        if not self._ended.done():
            self._signal(signal.SIGTERM)

    async def stop(self) -> None:
        """End the process and its children and collect them; does nothing to one that has ended."""
        self.stdin.close()
        if not self._ended.done():
            self.terminate()
            try:
                async with asyncio.timeout(STOP_PATIENCE):
                    await self._drain()
                    await asyncio.shield(self._ended)
            except TimeoutError:
                self._signal(signal.SIGKILL)
        await self._drain()
        await self.wait()
        for transport in self._transports:  # at its end uvloop leaves one open
            transport.close()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return

    async def _drain(self) -> None:
        while await self.stdout.read(CHUNK):
            pass

    async def _read_err(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(CHUNK):
            self._err += chunk[: max(0, STDERR_LIMIT - len(self._err))]
