"""Large bodies pass through a front of its own process in bounded memory, in both directions."""

import asyncio
import contextlib
import hashlib
import os
import sys
from collections.abc import AsyncIterator

import aiohttp
import psutil
from aiohttp import web

from settings import Settings
from tests.pods.upstreams import front_settings, http_upstream

SIZE = 64 * 1024 * 1024
BLOCK = bytes(range(256)) * 1024
GROWTH = 24 * 1024 * 1024
"""What the process may grow by while 64 MiB pass; buffers of both sockets and the allocator's slack."""


@contextlib.asynccontextmanager
async def front_process(settings: Settings) -> AsyncIterator[psutil.Process]:
    """`python -m pods.front`, listening."""
    ports = {"PERDURE_FRONT_PORT": str(settings.front_port), "PERDURE_API_PORT": str(settings.api_port)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pods.front", env=os.environ | ports, stderr=asyncio.subprocess.PIPE
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(20):
            assert b"listening" in await process.stderr.readline()
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        await process.communicate()


async def blocks() -> AsyncIterator[bytes]:
    """SIZE bytes."""
    for _ in range(SIZE // len(BLOCK)):
        yield BLOCK


def digest() -> str:
    """SHA-256 of what `blocks` yields."""
    whole = hashlib.sha256()
    for _ in range(SIZE // len(BLOCK)):
        whole.update(BLOCK)
    return whole.hexdigest()


async def slow_peer(request: web.BaseRequest) -> web.StreamResponse:
    """Takes an upload and answers with its digest, or sends a download. It begins late, so that buffers would fill."""
    await asyncio.sleep(0.3)  # the sender's lead is what is tested, there is nothing to wait for
    if request.method == "GET":
        response = web.StreamResponse(headers={"Content-Length": str(SIZE)})
        await response.prepare(request)
        async for block in blocks():
            await response.write(block)
        return response
    seen = hashlib.sha256()
    async for chunk in request.content.iter_any():
        seen.update(chunk)
    return web.Response(text=seen.hexdigest(), status=201)


async def test_64_mib_both_ways_in_bounded_memory() -> None:
    settings = front_settings()
    url = f"{settings.url}/api/v4/jobs/1/artifacts"
    async with (
        http_upstream(settings.api_port, slow_peer),
        front_process(settings) as front,
        aiohttp.ClientSession() as client,
    ):
        before = front.memory_info().rss
        async with client.post(url, data=blocks()) as response:
            assert (response.status, await response.text()) == (201, digest())
        peak = front.memory_info().rss
        seen = hashlib.sha256()
        async with client.get(url) as response:
            await asyncio.sleep(0.3)  # a slow client: whatever the front would pile up is piled up now
            peak = max(peak, front.memory_info().rss)
            async for chunk in response.content.iter_any():
                seen.update(chunk)
        peak = max(peak, front.memory_info().rss)
    assert seen.hexdigest() == digest()
    assert peak - before < GROWTH
