"""Refuses bodies that are larger than any call of the directory, before they fill the memory."""

from http import HTTPStatus
from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY: Final = 64 * 1024
"""Bytes; the largest body has the public keys of a pod."""


class BodyLimit:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp) -> None:
        """Pass everything small on to this one."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _small(receive)
        if body is None:
            text = f"The body has more than {MAX_BODY} bytes."
            response = JSONResponse({"message": text}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"Connection": "close"})
            await response(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replayed() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, replayed, send)


async def _small(receive: Receive) -> bytes | None:
    """All of a body; None for one that is too large. Of a client that goes away it is what came."""
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return body
