"""Upstreams that a front is put in front of: a well-behaved one, and one that answers with given bytes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import web

from rigs.ports import free_port
from settings import FrontLimits, Settings

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def front_settings(**limits: Any) -> Settings:
    """Settings with free ports; `limits` are fields of FrontLimits."""
    return Settings(front_port=free_port(), api_port=free_port(), front=FrontLimits(**limits))


@contextlib.asynccontextmanager
async def http_upstream(port: int, handler: Handler) -> AsyncIterator[None]:
    """An aiohttp server on `port`."""
    server = web.Server(handler, handler_cancellation=True, auto_decompress=False)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def raw_upstream(port: int, response: bytes) -> AsyncIterator[list[bytes]]:
    """A server that reads one request header, sends `answer` and hangs up; yields the headers it got."""
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(asyncio.IncompleteReadError):
                seen.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(response)
                await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        yield seen
    finally:
        server.close()
        await server.wait_closed()
