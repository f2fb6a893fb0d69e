"""A keep-alive HTTP/1.1 connection that costs the machine next to nothing, so that the load stays out of the figures.

One request at a time; the server's own keep-alive limit is the only reason for which it connects again.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final, cast

from httptools import HttpResponseParser

_WANTED: Final = frozenset({b"x-gitlab-last-update", b"x-total", b"retry-after"})
"""The headers of a response that a caller may ask for."""


@dataclass(slots=True)
class Answer:
    """Status, chosen headers (names in small letters) and body."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class Connection:
    """A way to one server."""

    def __init__(self, host: str, port: int) -> None:
        """Connect lazily."""
        self._host, self._port = host, port
        self._name = f"{host}:{port}".encode()
        self._link: _Link | None = None

    async def request(self, method: str, path: str, body: bytes = b"", headers: tuple[bytes, ...] = ()) -> Answer:
        """Send a request and wait for its response. Raises `ConnectionError` when the server goes away within it."""
        if self._link is None or not self._link.open:
            loop = asyncio.get_running_loop()
            _, self._link = await loop.create_connection(_Link, self._host, self._port)
        lines = (b"%s %s HTTP/1.1" % (method.encode(), path.encode()), b"host: " + self._name, *headers)
        length = b"content-length: %d" % len(body)
        return await self._link.send(b"\r\n".join((*lines, length, b"", body)))

    def close(self) -> None:
        """Hang up."""
        if self._link is not None:
            self._link.close()


class _Link(asyncio.Protocol):
    """One TCP connection, for as long as the server keeps it."""

    def __init__(self) -> None:
        self.open = False
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._answer = Answer()
        self._done: asyncio.Future[Answer] | None = None

    def send(self, request: bytes) -> "asyncio.Future[Answer]":
        """Write a request; the future is its response."""
        assert self._transport is not None
        self._parser = HttpResponseParser(self)
        self._answer = Answer()
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._done

    def close(self) -> None:
        """Hang up."""
        self.open = False
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is no subclass of it
        self.open = True

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        self._parser.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        """Called by asyncio."""
        self.open = False
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
        if not self._parser.should_keep_alive():
            self.close()
        if self._done is not None and not self._done.done():
            self._done.set_result(self._answer)
