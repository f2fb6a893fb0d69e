"""nginx with a holder behind it: what runners would lose waits until an API is back."""

import asyncio
import io
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import psutil
import pytest
from aiohttp import web

from pods.forwarding import Front
from pods.front import Serving, serving
from rigs.ports import LOCAL, free_port
from settings import FrontLimits, Settings
from tests.deploy.front import api, cutting_api, front
from tests.pods.supervised_front import calling
from tests.waiting import HANGS, eventually

LARGE = b"a" * 8_000_000
HELD = [
    ("PUT", "/api/v4/jobs/7", b"{}"),
    ("PATCH", "/api/v4/jobs/7/trace", b"a line\n"),
    ("PATCH", "/api/v4/jobs/7/trace", b"a" * 1_000_000),
    ("POST", "/api/v4/jobs/7/artifacts?artifact_type=archive", LARGE),
    ("GET", "/api/v4/jobs/7/artifacts", None),
    ("GET", "/api/v4/projects/1/jobs/7/artifacts", None),
    ("GET", "/group/project.git/info/refs?service=git-upload-pack", None),
    ("POST", "/group/project.git/git-upload-pack", b"0000"),
    ("POST", "/group/project.git/git-receive-pack", LARGE),
]
IMMEDIATE = [("POST", "/api/v4/jobs/request"), ("POST", "/api/v4/runners/verify"), ("GET", "/group/project")]


async def echo(request: web.Request) -> web.Response:
    body = await request.read()
    client = request.headers.get("X-Forwarded-For")
    proto = request.headers.get("X-Forwarded-Proto")
    return web.json_response({"path": request.path_qs, "size": len(body), "client": client, "proto": proto})


class Site:
    """nginx, a holder and the port of an API that is not there yet."""

    def __init__(self, address: str, holder: Serving[Front], api_port: int) -> None:
        self.address, self.holder, self.api_port = address, holder, api_port

    async def holds(self, count: int) -> None:
        """Return when the holder holds so many calls."""

        async def look() -> bool:
            return len(self.holder.front.holding) == count

        await eventually(look, f"{count} calls are held")


def _file(body: bytes | None) -> io.BytesIO | None:
    return None if body is None else io.BytesIO(body)


@asynccontextmanager
async def site_in(folder: Path) -> AsyncIterator[Site]:
    api_port = free_port()
    limits = FrontLimits(apis=f"{LOCAL}:{api_port}", behind=LOCAL, probe_every=0.05)
    settings = Settings(front_port=free_port(), api_port=1, front=limits)
    async with (
        serving(settings) as holder,
        front(folder, f"{LOCAL}:{api_port}", holder=f"{LOCAL}:{settings.front_port}") as address,
    ):
        yield Site(address, holder, api_port)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with site_in(tmp_path) as made:
        yield made


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
        yield session


async def test_what_would_be_lost_is_held_until_an_api_is_back(site: Site, client: aiohttp.ClientSession) -> None:
    """Bodies stay where they are: in the buffers of nginx and the systems, and with the client."""
    calls = [
        asyncio.create_task(client.request(method, site.address + path, data=_file(body)))
        for method, path, body in HELD
    ]
    await site.holds(len(HELD))
    async with api(echo, site.api_port), asyncio.timeout(HANGS):
        for call, (_, path, body) in zip(calls, HELD, strict=True):
            async with await call as response:
                seen = await response.json()
                assert (response.status, seen["path"], seen["size"]) == (200, path, len(body or b""))
                assert (seen["client"], seen["proto"]) == (LOCAL, "http")


@pytest.mark.parametrize(("method", "path"), IMMEDIATE)
async def test_polls_and_people_get_their_503_at_once(
    site: Site, client: aiohttp.ClientSession, method: str, path: str
) -> None:
    async with asyncio.timeout(HANGS), client.request(method, site.address + path) as response:
        assert (response.status, response.headers["Retry-After"]) == (503, "5")


@pytest.mark.parametrize(("method", "path", "body"), HELD[:5])
async def test_while_the_holder_is_dead_the_apis_are_asked_themselves(
    tmp_path: Path, client: aiohttp.ClientSession, method: str, path: str, body: bytes | None
) -> None:
    async with (
        api(echo) as upstream,
        front(tmp_path, upstream, holder=f"{LOCAL}:{free_port()}") as address,
        client.request(method, address + path, data=_file(body)) as response,
    ):
        assert (response.status, (await response.json())["size"]) == (200, len(body or b""))


async def test_a_log_that_the_holder_died_with_is_not_sent_to_an_api_as_well(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    requests: list[str] = []
    async with (
        cutting_api(requests) as holder,
        api(echo) as upstream,
        front(tmp_path, upstream, holder=holder) as address,
        client.patch(f"{address}/api/v4/jobs/7/trace", data=b"a line\n") as response,
    ):
        assert response.status == 503
    assert len(requests) == 1


async def test_a_killed_worker_of_nginx_refuses_nobody(tmp_path: Path) -> None:
    """Its master has the socket."""
    async with AsyncExitStack() as running:
        upstream = await running.enter_async_context(api(echo))
        address = await running.enter_async_context(front(tmp_path, upstream))
        callers = await running.enter_async_context(calling(int(address.rpartition(":")[2])))
        master = psutil.Process(int((tmp_path / "nginx.pid").read_text()))
        for _ in range(5):
            enough = callers.answered + 20

            async def served(enough: int = enough) -> bool:
                return callers.answered > enough

            await eventually(served, "the callers are served")
            for worker in master.children():
                os.kill(worker.pid, signal.SIGKILL)
        await eventually(served, "the callers are served")
    assert callers.refused == 0
