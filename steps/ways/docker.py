"""Into a container of a Docker Engine, by an exec whose connection carries the bytes.

Source: docs/reference/steps.md, "Reaching a step runner".
"""

import asyncio
import contextlib
from collections import deque
from typing import Final
from urllib.parse import quote

from domain.steps.places import Docker
from steps.dialing import ByteStream, Open
from steps.ways.docker_calls import Answer, Upgraded, call, upgrade
from steps.ways.docker_frames import STDERR, STDOUT, Frames
from steps.ways.said import Said, ended

NEWEST: Final = (1, 51)
"""The version of the API that these calls were written for. An Engine that is older is asked by its own version; the
calls have been the same since 1.25."""
_SIZE: Final = 256 * 1024
_LOOKS: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds before each look at how a process has ended, which the Engine knows a moment after the stream ends."""
_TEXT: Final = 4096
"""Bytes: the Engine writes to standard output why it could not start a process."""


def by_docker(place: Docker) -> Open:
    """Streams to processes that an exec starts in the container."""

    async def open_exec() -> ByteStream:
        version = await _version(place)
        wanted = {
            "AttachStdin": True,
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": False,
            "Cmd": list(place.proxy),
            **({"User": place.user} if place.user else {}),
        }
        made = await call(place, "POST", f"{version}/containers/{quote(place.container, safe='')}/exec", wanted)
        number = made.json().get("Id")
        if made.status != 201 or not isinstance(number, str):
            raise _refused(place, "an exec", made)
        path = f"{version}/exec/{quote(number, safe='')}"
        started = await upgrade(place, f"{path}/start", {"Detach": False, "Tty": False})
        if isinstance(started, Answer):
            raise _refused(place, "the start of an exec", started)
        return ExecStream(place, path, started)

    return open_exec


async def _version(place: Docker) -> str:
    """The first part of all paths: ours, or that of an older Engine, which is asked without."""
    answer = await call(place, "GET", "/_ping")
    major, _, minor = answer.headers.get("api-version", "").partition(".")
    if answer.status != 200 or not (major.isdecimal() and minor.isdecimal()):
        raise _refused(place, "a ping", answer)
    theirs = (int(major), int(minor))
    return "/v{}.{}".format(*min(theirs, NEWEST))


def _refused(place: Docker, what: str, answer: Answer) -> ConnectionError:
    return ConnectionError(f"{place}: {what} is answered with status {answer.status}: {answer.message}")


class ExecStream:
    """The connection of an exec."""

    def __init__(self, place: Docker, path: str, connection: Upgraded) -> None:
        """`path` is that of the exec, with the version."""
        self._place = place
        self._path = path
        self._reader, self._writer = connection.reader, connection.writer
        self._frames = Frames()
        self._said = Said(str(place))
        self._ready: deque[bytes] = deque()
        self._first = b""
        self._take(connection.rest)

    async def read(self) -> bytes:
        """What the process writes. Raises `ConnectionError` where it has failed, or the connection was cut."""
        while not self._ready:
            try:
                data = await self._reader.read(_SIZE)
            except OSError as error:
                raise ConnectionError(f"{self._place}: {error.strerror or error}") from error
            if not data:
                await self._judge()
                return b""
            self._take(data)
        return self._ready.popleft()

    async def write(self, data: bytes) -> None:
        """Write to it."""
        self._writer.write(data)
        await self._writer.drain()

    async def end(self) -> None:
        """Close its input. Over TLS nothing is left to read from it then: there is no closing of one half."""
        with contextlib.suppress(OSError, RuntimeError):
            if self._writer.can_write_eof():
                self._writer.write_eof()
            else:
                await self._writer.drain()
                self._writer.close()

    async def close(self) -> None:
        """Cut the connection: the process comes to the end of its input."""
        self._writer.transport.abort()

    def _take(self, data: bytes) -> None:
        for stream, piece in self._frames.take(data):
            if stream == STDOUT:
                self._ready.append(piece)
                if len(self._first) <= _TEXT:
                    self._first += piece
            elif stream >= STDERR:
                self._said.hear(piece)

    async def _judge(self) -> None:
        if not self._frames.is_between:
            raise ConnectionError(f"{self._place}: the connection was cut in the middle of a frame")
        code = await self._exit_code()
        if code is None:
            raise ConnectionError(f"{self._place}: the connection was cut while the proxy there goes on")
        if code:
            said = self._said.end() or self._first_text()
            raise ended(str(self._place), "the process there", code, said)

    def _first_text(self) -> str:
        """Standard output, where it is short and a text: then the Engine has told there what is wrong."""
        said = Said(str(self._place))
        if len(self._first) <= _TEXT and b"\0" not in self._first:
            said.hear(self._first)
        return said.end()

    async def _exit_code(self) -> int | None:
        """None as long as the process runs."""
        for pause in _LOOKS:
            await asyncio.sleep(pause)
            answer = await call(self._place, "GET", f"{self._path}/json")
            if answer.status != 200:
                raise _refused(self._place, "a look at the exec", answer)
            found = answer.json()
            if not found.get("Running") and isinstance(found.get("ExitCode"), int):
                return int(found["ExitCode"])
        return None
