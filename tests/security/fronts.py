"""The two fronts, each with its API behind it, and what a hostile client sends: plain bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pods.front import serving
from rigs.ports import LOCAL, free_port
from tests.deploy.front import front as nginx
from tests.pods.upstreams import Handler, front_settings, http_upstream

WITHIN = 20.0


@asynccontextmanager
async def embedded_front(folder: Path, handler: Handler) -> AsyncIterator[int]:
    """The front of the embedded mode; yields its port."""
    settings = front_settings()
    async with serving(settings), http_upstream(settings.api_port, handler):
        yield settings.front_port


@asynccontextmanager
async def production_front(folder: Path, handler: Handler) -> AsyncIterator[int]:
    """nginx; yields its port."""
    api_port = free_port()
    async with http_upstream(api_port, handler), nginx(folder, f"{LOCAL}:{api_port}") as address:
        yield int(address.rpartition(":")[2])


FRONTS = {"embedded": embedded_front, "nginx": production_front}


async def answer_to(port: int, request: bytes) -> bytes:
    """Everything that comes back on one connection until the server closes it, or says nothing more for a moment."""
    reader, writer = await asyncio.open_connection(LOCAL, port)
    found = b""
    try:
        with suppress(ConnectionError):
            writer.write(request)
            await writer.drain()
        async with asyncio.timeout(WITHIN):
            found = await reader.readuntil(b"\r\n\r\n")
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(0.3):
                found += await reader.read()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()
    return found
