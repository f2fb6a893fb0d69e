"""Every response carries the `X-Request-Id` of its request: runners log it.

Source: docs/reference/runner-protocol.md, "Every call".
"""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NAME: Final = b"x-request-id"
_MAX_LENGTH: Final = 64


class RequestIds:
    """Middleware that echoes the header; a request without one gets none."""

    def __init__(self, app: ASGIApp) -> None:
        """`app` answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the header to its response."""
        given = next((value for name, value in scope["headers"] if name == _NAME), b"") if _is_http(scope) else b""
        if not given or len(given) > _MAX_LENGTH:
            await self._app(scope, receive, send)
            return

        async def echo(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (_NAME, given)]
            await send(message)

        await self._app(scope, receive, echo)


def _is_http(scope: Scope) -> bool:
    return bool(scope["type"] == "http")
