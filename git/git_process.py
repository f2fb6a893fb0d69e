"""A running git whose three ends are streams of the event loop."""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from domain.errors import Unavailable
from git.turns import STREAMS

STDERR_LIMIT: Final = 16 * 1024
"""Bytes of standard error that are kept for messages; the rest is read and dropped."""
STOP_PATIENCE: Final = 5.0
"""Seconds that git has to remove its lock files after SIGTERM before it is killed."""
CHUNK: Final = 64 * 1024

_ENDS: Final = ThreadPoolExecutor(STREAMS.at_once, thread_name_prefix="git-end")
"""A thread waits for the end of each."""

_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True)
class Begun:
    """A git that runs, and our ends of its stdin, stdout and stderr."""

    process: "subprocess.Popen[bytes]"
    ends: Sequence[socket.socket]


def begin(arguments: Sequence[str | Path], variables: Mapping[str, str]) -> Begun:
    """Start `git ARGUMENTS` with all three ends for the event loop. Raises Unavailable when there is no git command.

    Not by the event loop: uvloop copies the whole server for that, threads' locks included, and now and then the copy
    waits for one whose thread it does not have, for ever, and the server for the copy. `Popen` copies nothing (vfork).
    Sockets and not pipes: uvloop closes the number of a pipe twice, and by the second time the number may be that of
    another thread's file.
    """
    with ExitStack() as theirs, ExitStack() as ours:
        pairs = [socket.socketpair() for _ in range(3)]
        for our, their in pairs:
            ours.enter_context(our)
            theirs.enter_context(their)
        process = popen(arguments, variables, *(their.fileno() for _, their in pairs))
        ours.pop_all()
    return Begun(process, [our for our, _ in pairs])


def popen(
    arguments: Sequence[str | Path],
    variables: Mapping[str, str],
    stdin: int | IO[bytes],
    stdout: int,
    stderr: int | IO[bytes],
) -> "subprocess.Popen[bytes]":
    """Start `git ARGUMENTS` as the leader of a group of its own. Raises Unavailable when there is no git command."""
    try:
        return subprocess.Popen(
            ("git", *arguments),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd="/",
            env=variables,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise Unavailable("The git command is not on PATH of this server; install git 2.39 or later.") from error


def signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Tell a git and its children, of which some may be left when it has ended."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


async def with_streams(begun: Begun) -> "GitProcess":
    """Read and write its ends by the event loop."""
    streams: list[_Stream] = []
    try:
        for end in begun.ends:
            streams.append(await asyncio.open_unix_connection(sock=end))  # noqa: PERF401 - those that are open are closed
    except BaseException:
        begun.process.kill()
        begun.process.wait()
        for _, writer in streams:
            writer.close()
        for end in begun.ends[len(streams) :]:
            end.close()
        raise
    return GitProcess(begun.process, streams)


class GitProcess:
    """A running git; `err` fills while it runs."""

    def __init__(self, process: "subprocess.Popen[bytes]", streams: Sequence[_Stream]) -> None:
        """Start to read stderr, the last of the `streams`, at once, so that a talkative git never blocks on it."""
        (_, self.stdin), (self.stdout, _), (err, _) = streams
        self._writers = [writer for _, writer in streams]
        self._process = process
        self._ended: asyncio.Future[Any] = asyncio.get_running_loop().run_in_executor(_ENDS, process.wait)
        self._err = bytearray()
        self._reading = asyncio.create_task(self._read_err(err))

    @property
    def err(self) -> str:
        """What git said on stderr so far, as text without trailing blanks."""
        return self._err.decode("utf-8", "replace").strip()

    async def feed(self, chunks: AsyncIterator[bytes]) -> None:
        """Write everything to stdin and close it; what `chunks` raises goes on to the caller.

        A git that has stopped reading is no error here: its exit code and stderr say why.
        """
        async for chunk in chunks:
            if self.stdin.is_closing():  # uvloop raises RuntimeError for a write to what was lost before
                return
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
            signal_group(self._process, signal.SIGTERM)

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
                signal_group(self._process, signal.SIGKILL)
        await self._drain()
        await self.wait()
        for writer in self._writers:
            writer.close()

    async def _drain(self) -> None:
        while await self.stdout.read(CHUNK):
            pass

    async def _read_err(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(CHUNK):
            self._err += chunk[: max(0, STDERR_LIMIT - len(self._err))]
