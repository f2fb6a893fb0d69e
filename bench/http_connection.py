"""A keep-alive HTTP/1.1 connection that costs the machine next to nothing, so that the load stays out of the figures.

One request at a time; the server's own keep-alive limit is the only reason for which it connects again.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final, cast

from httptools import HttpResponseParser

_WANTED: Final = frozenset({b"x-gitlab-last-update", b"x-total", b"retry-after"})
"""The headers of an answer that a caller may ask for."""


@dataclass(slots=True)
class Answer:
    """Status, chosen headers (names in small letters) and body."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class Connection(asyncio.Protocol):
    """A connection to one server."""

    def __init__(self, host: str, port: int) -> None:
        """Connect lazily."""
        self._host, self._port = host, port
        self._name = f"{host}:{port}".encode()
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._answer = Answer()
        self._done: asyncio.Future[Answer] | None = None

    async def request(self, method: str, path: str, body: bytes = b"", headers: tuple[bytes, ...] = ()) -> Answer:
        """Send a request and wait for its answer. Raises `ConnectionError` when the server goes away within it."""
        loop = asyncio.get_running_loop()
        if self._transport is None or self._transport.is_closing():
            await loop.create_connection(lambda: self, self._host, self._port)
        assert self._transport is not None
        self._parser = HttpResponseParser(self)
        self._answer = Answer()
        self._done = loop.create_future()
        lines = (b"%s %s HTTP/1.1" % (method.encode(), path.encode()), b"host: " + self._name, *headers)
        length = b"content-length: %d" % len(body)
        self._transport.write(b"\r\n".join((*lines, length, b"", body)))
        return await self._done

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is no subclass of it

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        self._parser.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        """Called by asyncio."""
        self._transport = None
        if self._done is not None and not self._done.done():
            self._done.set_exception(ConnectionError(f"the server hung up: {error}"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        low = name.lower()
        if low in _WANTED:
            self._answer.headers[low] = value

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._answer.body += body

    def on_message_complete(self) -> None:
        """Called by the parser."""
        self._answer.status = self._parser.get_status_code()
        if self._done is not None and not self._done.done():
            self._done.set_result(self._answer)
