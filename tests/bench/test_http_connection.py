"""The client of the load, against a real server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from bench.http_connection import Connection
from tests.waiting import HANGS

Served = tuple[int, list[Any]]
"""The port, and what came: method, path, headers, body."""


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    seen: list[Any] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        seen.append((request.method, request.path_qs, dict(request.headers), await request.read()))
        if request.path == "/hang-up":
            assert request.transport is not None
            request.transport.close()
        if request.path == "/last":
            response = web.Response(status=204, headers={"X-GitLab-Last-Update": "waiting"})
            response.force_close()
            return response
        return web.Response(status=201, body=b"x" * 100_000, headers={"X-Total": "7", "X-Other": "no"})

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield runner.addresses[0][1], seen
    await runner.cleanup()


async def test_requests_share_a_connection_and_answers_come_whole(server: Served) -> None:
    port, seen = server
    connection = Connection("127.0.0.1", port)
    for body in (b"one", b""):
        response = await connection.request("PATCH", "/a?b=c", body, (b"job-token: t",))
        assert (response.status, len(response.body), response.headers) == (201, 100_000, {b"x-total": b"7"})
    connection.close()
    assert [(method, path, body) for method, path, _, body in seen] == [
        ("PATCH", "/a?b=c", b"one"),
        ("PATCH", "/a?b=c", b""),
    ]
    assert seen[0][2]["job-token"] == "t"


async def test_it_connects_again_after_the_server_closed(server: Served) -> None:
    port, seen = server
    connection = Connection("127.0.0.1", port)
    response = await connection.request("POST", "/last")
    assert response.headers == {b"x-gitlab-last-update": b"waiting"}
    async with asyncio.timeout(HANGS):
        assert (await connection.request("GET", "/")).status == 201
    connection.close()
    assert len(seen) == 2


async def test_a_server_that_hangs_up_is_an_error(server: Served) -> None:
    port, _ = server
    connection = Connection("127.0.0.1", port)
    with pytest.raises(ConnectionError):
        await connection.request("GET", "/hang-up")
