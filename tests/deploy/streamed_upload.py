"""An upload whose second piece is sent only when its first has arrived: what keeps bodies for itself never ends it."""

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web


class StreamedUpload:
    """Both ends of one upload."""

    size = 8_070_000

    def __init__(self) -> None:
        """Nothing is sent."""
        self._arrived = asyncio.Event()

    async def receive(self, request: web.Request) -> web.Response:
        """The handler: 201 with the size of what came."""
        size = 0
        async for piece in request.content.iter_any():
            size += len(piece)
            self._arrived.set()
        return web.json_response({"size": size}, status=201)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body."""
        yield b"a" * 70_000
        await self._arrived.wait()
        for _ in range(80):
            yield b"b" * 100_000
