"""`HEAD` is answered as `GET`, without the body: status and headers are the same (RFC 9110, 9.3.2).

The route of the `GET` is called. Where its body has a known length it goes on to its end unseen; a stream, as of events
or of an archive, is left as soon as its header is there, so that nobody waits for what is not sent.
"""

import asyncio

from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """Middleware next to the router, whose routes with a `HEAD` of their own keep it."""

    def __init__(self, app: ASGIApp, router: Router) -> None:
        """`app` answers; `router` says what it knows."""
        self._app = app
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on; a `HEAD` that no route takes as a `GET`."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or self._has_own(scope):
            await self._app(scope, receive, send)
            return
        response = _Header(send)
        inner = asyncio.ensure_future(self._app({**scope, "method": "GET"}, receive, response.send))
        begun = asyncio.create_task(response.is_stream.wait())
        try:
            await asyncio.wait({inner, begun}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
            left = not inner.done()
            inner.cancel()
        try:
            await inner
        except asyncio.CancelledError:
            if not left:
                raise
        await response.end()

    def _has_own(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] == Match.FULL for route in self._router.routes)


class _Header:
    """Passes on the header of a response, once, and nothing of its body."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False
        self.is_stream = asyncio.Event()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_open = True
            await self._send(message)
            if all(name.lower() != b"content-length" for name, _ in message["headers"]):
                self.is_stream.set()
        elif message.get("more_body"):
            self.is_stream.set()
        else:
            await self.end()

    async def end(self) -> None:
        """The empty body, unless it was sent."""
        if self._is_open:
            self._is_open = False
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
