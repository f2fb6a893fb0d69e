"""nginx before several pods: bodies and events pass as they come, and what befalls one pod is felt by no other."""

import asyncio
import io
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from domain.pods.routable_token import Route, spelled
from domain.pods.token_prefixes import PERSONAL
from rigs.ports import LOCAL
from tests.deploy.pods import NUMBERS, cluster_in, naming, sent
from tests.deploy.streamed_upload import StreamedUpload
from tests.waiting import HANGS, eventually

TOKENS = {number: {"PRIVATE-TOKEN": spelled(PERSONAL, Route(number), bytes(16))} for number in NUMBERS}
LARGE = 8 * 1024 * 1024
HELD = [
    ("PUT", "/api/v4/jobs/7", b"{}"),
    ("PATCH", "/api/v4/jobs/7/trace", b"a line\n"),
    ("POST", "/api/v4/jobs/7/artifacts?artifact_type=archive", b"a" * LARGE),
    ("GET", "/api/v4/jobs/7/artifacts", b""),
    ("POST", "/globex/app.git/git-receive-pack", b"a" * LARGE),
]
NGINX_WOULD_WAIT = 60
"""Seconds for a connection, unless it is told otherwise."""
REFUSED = [("POST", "/api/v4/jobs/request", "5"), ("GET", "/globex/app", "5"), ("POST", "/api/v4/runners/verify", "5")]


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2 * HANGS)) as session:
        yield session


class Hanging:
    """A pod that answers when it is told so."""

    def __init__(self) -> None:
        self.came = 0
        self.go_on = asyncio.Event()

    async def handler(self, request: web.Request) -> web.Response:
        self.came += 1
        await self.go_on.wait()
        return web.json_response({"pod": 7})

    async def has(self, count: int) -> None:
        """Return when so many requests hang."""

        async def look() -> bool:
            return self.came >= count

        await eventually(look, f"{count} requests hang")


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/api/v4/jobs/7/artifacts"), ("POST", "/acme/app.git/git-receive-pack")]
)
async def test_an_upload_streams(tmp_path: Path, client: aiohttp.ClientSession, method: str, path: str) -> None:
    """The pod has the first piece before the client sends the second."""
    upload = StreamedUpload()
    async with (
        cluster_in(tmp_path, handlers={7: upload.receive}) as cluster,
        client.request(method, cluster.url + path, data=upload.pieces(), headers=TOKENS[7]) as response,
    ):
        assert (response.status, await response.json()) == (201, {"size": upload.size})


async def test_events_are_not_held_back(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    """The reader has the first event before the pod sends the second."""
    read = asyncio.Event()

    async def events(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: one\n\n")
        await read.wait()
        await response.write(b"data: two\n\n")
        return response

    async with (
        cluster_in(tmp_path, handlers={7: events}) as cluster,
        client.get(f"{cluster.url}/globex/app/pipelines/1/events") as answer,
    ):
        assert await answer.content.readuntil(b"\n\n") == b"data: one\n\n"
        read.set()
        assert await answer.content.read() == b"data: two\n\n"


async def test_while_a_pod_is_away_it_says_when_to_come_back_and_others_answer(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with cluster_in(tmp_path) as cluster:
        await cluster.serving[7].aclose()
        for method, path, seconds in REFUSED:
            async with client.request(method, cluster.url + path, headers=TOKENS[7]) as response:
                assert (response.status, response.headers["Retry-After"]) == (503, seconds)
            assert (await sent(cluster.nginx, method, path, TOKENS[1]))[0] == 200


async def test_a_pod_that_takes_no_connection_is_not_waited_for_long(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    """As a machine that is off: nobody refuses. It takes the 2 s that nginx gives a connection."""
    async with cluster_in(tmp_path) as cluster, AsyncExitStack() as opened:
        await cluster.serving[7].aclose()
        silent = opened.enter_context(socket.socket())
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        silent.bind((LOCAL, cluster.ports[7]))
        silent.listen(0)
        for _ in range(3):  # the system takes one or two for it; further ones get no word
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((LOCAL, cluster.ports[7]))
        begun = time.monotonic()
        async with client.get(f"{cluster.url}/globex/app") as response:
            assert (response.status, response.headers["Retry-After"]) == (503, "5")
        assert 1 < time.monotonic() - begun < NGINX_WOULD_WAIT


async def test_what_would_be_lost_is_held_by_the_router_until_its_pod_is_back(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with cluster_in(tmp_path) as cluster:
        await cluster.serving[7].aclose()
        held = cluster.routers[0].front._fronts[7].holding

        async def call(method: str, path: str, body: bytes) -> tuple[int, object]:
            data = io.BytesIO(body) if body else None
            async with client.request(method, cluster.url + path, data=data, headers=TOKENS[7]) as response:
                return response.status, (await response.json())["size"]

        calls = [asyncio.create_task(call(*one)) for one in HELD]

        async def all_wait() -> bool:
            return len(held) == len(HELD)

        await eventually(all_wait, "all calls are held")
        assert (await sent(cluster.nginx, "PUT", "/api/v4/jobs/7", TOKENS[1], b"{}"))[0] == 200
        await cluster.serve(7, naming(7))
        assert await asyncio.gather(*calls) == [(200, len(body)) for _, _, body in HELD]


async def test_without_decisions_the_router_routes_and_without_it_callers_are_told_when_to_come_back(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    unused = ("--decisions", "127.0.0.1:1")
    async with cluster_in(tmp_path, *unused) as cluster:
        status, said = await sent(cluster.nginx, "GET", "/api/v4/user", TOKENS[7])
        assert (status, json.loads(said)["pod"], json.loads(said)["routed"]) == (200, 7, True)
        await cluster.routed.aclose()
        for method, path, seconds in (*REFUSED, ("PUT", "/api/v4/jobs/7", "30")):
            async with client.request(method, cluster.url + path, headers=TOKENS[7]) as response:
                assert (response.status, response.headers["Retry-After"]) == (503, seconds)


@pytest.mark.parametrize("way", ["nginx", "router"])
async def test_a_pod_that_hangs_takes_its_own_places_only(
    tmp_path: Path, client: aiohttp.ClientSession, way: str
) -> None:
    """As many requests as one pod may have hang; others of it are told to come back, and those of others are served."""
    hanging, most = Hanging(), 20
    more = ("--connections", str(most))
    async with cluster_in(tmp_path, *more, handlers={7: hanging.handler}, pod_requests=most) as cluster:
        port: int = getattr(cluster, way)
        hung = [asyncio.create_task(sent(port, "GET", "/api/v4/user", TOKENS[7])) for _ in range(most)]
        await hanging.has(most)
        for method, path, seconds in REFUSED:
            url = f"http://127.0.0.1:{port}{path}"
            async with client.request(method, url, headers=TOKENS[7]) as response:
                assert (response.status, response.headers["Retry-After"]) == (503, seconds)
        found = await asyncio.gather(*(sent(port, "GET", "/api/v4/user", TOKENS[1]) for _ in range(most)))
        assert [(status, json.loads(said)["pod"]) for status, said in found] == [(200, 1)] * most
        hanging.go_on.set()
        assert [status for status, _ in await asyncio.gather(*hung)] == [200] * most
        assert (await sent(port, "GET", "/api/v4/user", TOKENS[7]))[0] == 200
