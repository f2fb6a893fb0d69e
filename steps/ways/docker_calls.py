"""HTTP calls of a Docker Engine, one connection each, and the one that becomes a connection of bytes.

The parser is httptools'. No client of the libraries that are here gives the connection away with the means to close its
sending half, which a process behind it needs to see the end of its input.
"""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from domain.steps.places import Docker
from steps.ways import tls

_SIZE: Final = 64 * 1024
_MAX_BODY: Final = 1024 * 1024
_PATIENCE: Final = 30.0
"""Seconds for one call."""
_KEEPALIVE: Final = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 3))
"""A peer that is dead is noticed after a minute."""


@dataclass(slots=True)
class Answer:
    """What came, which is also what the parser calls; `rest` is what followed the head of an upgrade."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    is_whole: bool = False
    is_upgraded: bool = False
    rest: bytes = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of the head."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, data: bytes) -> None:
        """A part of the body."""
        if len(self.body) + len(data) > _MAX_BODY:
            raise ConnectionError(f"an answer has more than {_MAX_BODY:,} bytes")
        self.body += data

    def on_message_complete(self) -> None:
        """Nothing follows."""
        self.is_whole = True

    @property
    def message(self) -> str:
        """What an error says: `{"message": ...}`, or the beginning of whatever came."""
        told = self.json().get("message")
        return str(told) if told else self.body[:500].decode("utf-8", "replace").strip()

    def json(self) -> dict[str, Any]:
        """The body; empty where it is no JSON object."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A connection of bytes; `rest` are the first ones."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    rest: bytes


async def call(place: Docker, method: str, path: str, body: object = None) -> Answer:
    """One call. Raises `ConnectionError` where nothing or nonsense comes back."""
    async with _patience(place):
        reader, writer = await _connect(place)
        try:
            answer = await _exchange(place, reader, writer, _request(method, path, body, "close"))
        finally:
            writer.close()
    if not answer.is_whole and "content-length" in answer.headers:
        raise ConnectionError(f"{place}: the answer to {method} {path} was cut")
    return answer


async def upgrade(place: Docker, path: str, body: object) -> Answer | Upgraded:
    """POST, after which the connection is one of bytes; the answer where the Engine does not want that."""
    async with _patience(place):
        reader, writer = await _connect(place)
        try:
            answer = await _exchange(place, reader, writer, _request("POST", path, body, "Upgrade\r\nUpgrade: tcp"))
        except BaseException:
            writer.close()
            raise
    if answer.is_upgraded:
        return Upgraded(reader, writer, answer.rest)
    writer.close()
    return answer


@asynccontextmanager
async def _patience(place: Docker) -> AsyncIterator[None]:
    """A time limit, whose end is told like all other faults of a connection: with the place."""
    try:
        async with asyncio.timeout(_PATIENCE):
            yield
    except TimeoutError as error:
        raise ConnectionError(f"{place}: no answer within {_PATIENCE:g} s") from error


async def _connect(place: Docker) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        if place.host.startswith("unix://"):
            return await asyncio.open_unix_connection(place.host.removeprefix("unix://"), limit=_SIZE)
        parts = urlsplit(place.host)
        context = tls.context(place.tls, str(place)) if place.tls else None
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=context, limit=_SIZE)
    except ssl.SSLError as error:
        raise ConnectionError(f"{place}: {tls.problem(error)}") from error
    except OSError as error:
        raise ConnectionError(f"{place}: {error.strerror or error}") from error
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    return reader, writer


def _request(method: str, path: str, body: object, connection: str) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    kind = "" if body is None else "Content-Type: application/json\r\n"
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: docker\r\nUser-Agent: perdure\r\n{kind}"
        f"Content-Length: {len(content)}\r\nConnection: {connection}\r\n\r\n"
    )
    return head.encode("ascii") + content


async def _exchange(
    place: Docker, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> Answer:
    answer = Answer()
    parser = HttpResponseParser(answer)
    try:
        writer.write(request)
        await writer.drain()
        while not answer.is_whole and (data := await reader.read(_SIZE)):
            try:
                parser.feed_data(data)
            except HttpParserUpgrade as upgrade:
                answer.rest = data[upgrade.args[0] :]
                answer.is_upgraded = True
    except HttpParserError as error:
        raise ConnectionError(f"{place}: what answers speaks no HTTP: {error}") from error
    except OSError as error:
        raise ConnectionError(f"{place}: {error.strerror or error}") from error
    answer.status = parser.get_status_code()
    if not answer.status:
        raise ConnectionError(f"{place}: the connection was closed without an answer")
    return answer
