"""The body of a request on its way through the front: small ones in memory, large ones chunk by chunk."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

from aiohttp import web

from settings import FrontLimits

SMALL = 64 * 1024
"""Bodies and answers up to this many bytes are taken whole."""


class ClientGone(Exception):
    """The client broke off or sent a body that is none; there is nobody to answer."""


class ClientTooSlow(Exception):
    """The client did not send its body in time."""


class RequestBody:
    """A body that is read at most once from the client.

    `whole` has the bytes of a small body. A large one, or one of unknown length, is streamed: the client sends it only
    when the API's connection stands, and it cannot be repeated.
    """

    def __init__(self, request: web.BaseRequest, limits: FrontLimits) -> None:
        """Take the request; `limits` say how fast the body must come."""
        self._request = request
        self._limits = limits
        self._credit = min(limits.body_grace, limits.client_idle)
        self._expects = request.headers.get("Expect", "").lower() == "100-continue"
        self.empty = not request.can_read_body
        self.whole: bytes | None = None
        self.touched = False
        self.times = 0
        """So often it was sent on."""
        self.failure: Exception | None = None

    async def take_small(self) -> None:
        """Read the body if it says that it is small and was not read yet; raises ClientGone or ClientTooSlow."""
        if self.failure is not None:
            raise self.failure
        if self.whole is not None:
            return
        length = self._request.content_length
        if self.empty or length is None or length > SMALL:
            return
        with self._failures():
            await self._invite()
            self.whole = b"".join([chunk async for chunk in self._arriving()])

    @property
    def repeatable(self) -> bool:
        """Can the same bytes be sent once more?"""
        return self.empty or self.whole is not None or not self.touched

    @property
    def here(self) -> int:
        """Bytes of it that have come and are kept."""
        return len(self.whole) if self.whole is not None else self._request.content.total_bytes

    def payload(self) -> bytes | AsyncIterator[bytes] | None:
        """What the HTTP client shall send."""
        self.times += 1
        if self.empty:
            return None
        return self.whole if self.whole is not None else self._chunks()

    async def _chunks(self) -> AsyncIterator[bytes]:
        self.touched = True
        with self._failures():
            await self._invite()
            async for chunk in self._arriving():
                yield chunk

    async def _arriving(self) -> AsyncIterator[bytes]:
        """The body as it comes. Each byte lets the client wait a little longer; our own waiting costs it nothing."""
        clock = asyncio.get_running_loop().time
        while True:
            begun = clock()
            async with asyncio.timeout(self._credit):
                chunk = await self._request.content.readany()
            if not chunk:
                return
            earned = len(chunk) / self._limits.body_rate - (clock() - begun)
            self._credit = min(self._credit + earned, self._limits.client_idle)
            yield chunk

    @contextlib.contextmanager
    def unread(self) -> Iterator[None]:
        """Take nothing more of the body from the client meanwhile: what it sends stays in the system's buffers."""
        if self._request.content.is_eof():
            yield
            return
        self._request.protocol.pause_reading()
        try:
            yield
        finally:
            self._request.protocol.resume_reading()

    async def _invite(self) -> None:
        """Tell a client that waits for `100 Continue` to go on."""
        if self._expects:
            await self._request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._request.writer.output_size = 0

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            slowest = f"{self._limits.body_rate} bytes a second"
            self.failure = ClientTooSlow(f"the body came more slowly than {slowest} (PERDURE_FRONT_BODY_RATE)")
            raise self.failure from error
        except (web.RequestPayloadError, ConnectionError) as error:
            self.failure = ClientGone(str(error))
            raise self.failure from error
