"""What became of each HTTP request, and how long that took: around everything that answers."""

import time
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

NO_ANSWER: Final = "499"
"""The status of a request whose client was gone before there was one."""


class TimedRequests:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, note: Callable[[Scope, str, float], None]) -> None:
        """`app` answers; `note` hears of each request its scope, its status, and the seconds to its end."""
        self._app = app
        self._note = note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), NO_ANSWER

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            self._note(scope, status, time.perf_counter() - begun)
