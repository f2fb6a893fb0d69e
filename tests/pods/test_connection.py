"""Clients that send slowly: their connections end in time, and nobody else's do."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from aiohttp import web

from pods.front import serving
from settings import Settings
from tests.pods.upstreams import front_settings, http_upstream
from tests.waiting import HANGS

HEAD = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n"
CHUNKED = b"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


async def echo(request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(body=await request.read())


@pytest.fixture
async def front() -> AsyncIterator[Settings]:
    settings = front_settings(header=0.4, body_grace=0.4)
    async with serving(settings), http_upstream(settings.api_port, echo):
        yield settings


async def trickled(settings: Settings, begin: bytes, piece: bytes, every: float = 0.05) -> tuple[bytes, float]:
    """Send `begin`, then `piece` again and again; what came back, and after how many seconds the connection ended."""
    reader, writer = await asyncio.open_connection("127.0.0.1", settings.front_port)
    started = time.monotonic()
    response = bytearray()

    async def read() -> None:
        # Who goes on sending to a closed connection has it reset, which must not cost what had come before.
        with suppress(ConnectionError):
            while piece := await reader.read(1024):
                response.extend(piece)

    reading = asyncio.create_task(read())
    writer.write(begin)
    with suppress(ConnectionError):
        while not reading.done() and time.monotonic() - started < HANGS:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(every)
    writer.close()
    await reading
    return bytes(response), time.monotonic() - started


async def test_a_header_that_trickles_is_cut(front: Settings) -> None:
    response, seconds = await trickled(front, b"GET / HTTP/1.1\r\n", b"X: 1\r\n")
    assert response == b""
    assert 0.4 <= seconds < HANGS


async def test_a_connection_that_says_nothing_is_cut(front: Settings) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", front.front_port)
    async with asyncio.timeout(HANGS):
        assert await reader.read() == b""
    writer.close()


async def test_the_second_header_of_a_connection_is_measured_too(front: Settings) -> None:
    response, seconds = await trickled(front, HEAD % 2 + b"okGET / HTTP/1.1\r\n", b"X: 1\r\n")
    assert response.endswith(b"ok")
    assert 0.4 <= seconds < HANGS


async def test_an_idle_connection_is_kept(front: Settings) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", front.front_port)
    for _ in range(2):
        writer.write(HEAD % 2 + b"ok")
        async with asyncio.timeout(HANGS):
            await reader.readuntil(b"\r\n\r\nok")
        await asyncio.sleep(2 * front.front.header)
    writer.close()


@pytest.mark.parametrize(
    ("begin", "piece"),
    [(HEAD % 10_000, b"a"), (HEAD % 10_000_000, b"a"), (CHUNKED, b"1\r\na\r\n")],
    ids=["small", "large", "of unknown length"],
)
async def test_a_body_that_trickles_is_408_and_cut(front: Settings, begin: bytes, piece: bytes) -> None:
    response, seconds = await trickled(front, begin, piece)
    assert response.startswith(b"HTTP/1.1 408 ")
    assert b"PERDURE_FRONT_BODY_RATE" in response
    assert 0.4 <= seconds < HANGS


async def test_a_body_that_came_fast_may_pause(front: Settings) -> None:
    """A runner that packs an archive while it sends it is silent at times."""
    reader, writer = await asyncio.open_connection("127.0.0.1", front.front_port)
    writer.write(CHUNKED + b"2000\r\n" + b"a" * 0x2000 + b"\r\n")
    await asyncio.sleep(3 * front.front.body_grace)
    writer.write(b"0\r\n\r\n")
    async with asyncio.timeout(HANGS):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.close()


async def test_the_pause_has_a_limit() -> None:
    settings = front_settings(body_grace=0.2, client_idle=0.4)
    async with serving(settings), http_upstream(settings.api_port, echo):
        reader, writer = await asyncio.open_connection("127.0.0.1", settings.front_port)
        writer.write(CHUNKED + b"2000\r\n" + b"a" * 0x2000 + b"\r\n")
        async with asyncio.timeout(HANGS):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 408 ")
        writer.close()
