"""One client's connection to the front: how long a request header may take, and how much of it is read.

aiohttp's own connection waits for the rest of a header as long as for the next request (docs/reference/reliability.md,
"Slow and flooding clients").
"""

import asyncio
import logging
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

HEADER_LIMIT = 64 * 1024
"""Bytes of one header line, and of all of them together."""
MAX_HEADERS = 100

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_MANY = "Too many headers"
"""How aiohttp's parser begins to say so."""

log = logging.getLogger("perdure.front")


class Connection(web.RequestHandler):
    """A connection that is closed when a request header does not come within `header` seconds, or grows too large.

    The time runs from the connection's start, and from the first byte of each further header.
    """

    def __init__(self, manager: web.Server, *, header: float, **options: Any) -> None:
        """Take the server and aiohttp's own options."""
        super().__init__(manager, **options)
        self._patience = header
        self._deadline: asyncio.TimerHandle | None = None
        self._unfinished = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first header."""
        super().connection_made(transport)
        self._deadline = self._loop.call_later(self._patience, self.force_close)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Wait for nothing any more."""
        self._finish_header()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a header or of a body."""
        known, waits = self._request_count, self._waiter is not None and not self._waiter.done()
        super().data_received(data)
        if self._request_count > known:
            self._finish_header()
        elif waits:
            self._unfinished += len(data)
            if self._unfinished > HEADER_LIMIT:
                self._refuse()
            elif self._deadline is None:
                self._deadline = self._loop.call_later(self._patience, self.force_close)

    def _finish_header(self) -> None:
        self._unfinished = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self) -> None:
        if self.transport is not None:
            self.transport.write(_TOO_LARGE)
        self.force_close()

    def linger_no_more(self) -> None:
        """Once the present request is answered, close at once: do not wait for the rest of its body."""
        self._lingering_time = 0.0

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = HTTPStatus.INTERNAL_SERVER_ERROR,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP in one line, and leave one line in the log: it may come in masses."""
        if not isinstance(exc, HttpProcessingError):
            return super().handle_error(request, status, exc, message)
        is_large = isinstance(exc, LineTooLong) or exc.message.startswith(_TOO_MANY)
        status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE if is_large else HTTPStatus.BAD_REQUEST
        log.debug("%s sent what is no request: %s", request.remote, exc.message)
        response = web.json_response({"message": f"{status} {HTTPStatus(status).phrase}"}, status=status)
        response.force_close()
        return response


class Server(web.Server):
    """Makes such connections."""

    def __call__(self) -> Connection:
        """The protocol of one more connection."""
        return Connection(self, loop=self._loop, **self._kwargs)
