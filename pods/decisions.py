"""The router's decision for a router of somebody else's: nginx asks for each call, and passes it on itself.

A call is told by what the decision reads, and nothing else: `X-Perdure-Method`, `X-Perdure-Path`, and the headers of
credentials by their own names. The answer is 204 with `X-Perdure-To`: number and address of a pod, so that who knows
another address of it does not go there, or `router` for what only the embedded router can do (read a body, ask all,
refuse). No body is read; only this machine can ask.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Final, cast

from httptools import HttpParserError, HttpRequestParser

from domain.pods.directory import Directory
from domain.pods.routing import Head, ToPod, decide
from pods.connection import HEADER_LIMIT
from pods.loopback import LOOPBACK

ROUTER: Final = "router"
"""To the embedded router."""
_METHOD: Final = "x-perdure-method"
_PATH: Final = "x-perdure-path"
_ANSWER: Final = b"HTTP/1.1 204 No Content\r\nX-Perdure-To: %s\r\n\r\n"
_NO_REQUEST: Final = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

log = logging.getLogger("perdure.front")


def decided(headers: dict[str, str], directory: Directory) -> str:
    """Where the call goes that a question describes, as the answer says it; raises KeyError for no question."""
    decision = decide(Head(headers[_METHOD], headers[_PATH], headers), directory)
    if not isinstance(decision, ToPod):
        return ROUTER
    pod = directory.by_number[decision.pod]
    return f"{pod.number} {pod.address}"


class _Asker(asyncio.Protocol):
    """One connection, with one question after the other; a server of aiohttp takes ten times as long as a decision."""

    def __init__(self, directory: Callable[[], Directory], askers: set[asyncio.Transport]) -> None:
        self._directory, self._askers = directory, askers
        self._parser = HttpRequestParser(self)
        self._headers: dict[str, str] = {}
        self._size = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own class is no subclass of it
        self._askers.add(self._transport)

    def connection_lost(self, _: Exception | None) -> None:
        """Called by asyncio."""
        if self._transport is not None:
            self._askers.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        assert self._transport is not None
        self._size += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserError:
            self._size = HEADER_LIMIT + 1
        if self._size > HEADER_LIMIT:
            self._transport.write(_NO_REQUEST)
            self._transport.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser. The first of a name holds, and bytes are read as the embedded router reads them."""
        self._headers.setdefault(name.decode("ascii").lower(), value.decode("utf-8", "surrogateescape"))

    def on_message_complete(self) -> None:
        """Called by the parser."""
        assert self._transport is not None
        headers, self._headers, self._size = self._headers, {}, 0
        try:
            to = decided(headers, self._directory())
        except KeyError:
            self._transport.write(_NO_REQUEST)
            self._transport.close()
            return
        self._transport.write(_ANSWER % to.encode())


@contextlib.asynccontextmanager
async def telling_decisions(directory: Callable[[], Directory], port: int) -> AsyncIterator[Callable[[], None]]:
    """Answer at this port of the loopback while the context is open; 0: nobody is answered.

    What is yielded ends it earlier: a front that leaves and the one that comes have the port together, and only the
    newer one knows what holds. Raises `OSError` for a port that somebody else has.
    """
    if not port:
        yield _nothing
        return
    askers: set[asyncio.Transport] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Asker(directory, askers), LOOPBACK, port, reuse_port=True)
    log.info("decisions are told at %s:%d", LOOPBACK, port)

    def end() -> None:
        server.close()
        for transport in tuple(askers):
            transport.close()

    try:
        yield end
    finally:
        end()
        await server.wait_closed()


def _nothing() -> None:
    """There is nothing to end."""
