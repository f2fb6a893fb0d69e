"""A router whose directory changes: pods come, move and go, and no request is disturbed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import generate_latest

from domain.errors import Invalid, Unavailable
from domain.pods.directory import Directory, Pod
from metrics import names
from metrics.definition import Definition
from metrics.front_metrics import FrontMetrics
from pods import front as front_module
from pods.directory_file import read_directory
from pods.directory_follower import CACHE, Listener
from pods.front import _opened, routing
from pods.pod_fronts import PodFront
from pods.room import most_of
from pods.router import Router
from rigs.ports import LOCAL, free_port
from settings import DirectorySettings, FrontLimits, Settings
from tests.metrics.scraping import Scrape
from tests.pods.directory.process import DirectoryProcess, directory_process
from tests.pods.upstreams import front_settings, http_upstream
from tests.waiting import HANGS, eventually


@dataclass
class Api:
    """An API that says which one it is; what asks for `/<name>/held` waits until it may go on."""

    name: str
    port: int = field(default_factory=free_port)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("/held"):
            self.came.set()
            await self.may_go_on.wait()
        return web.Response(text=self.name)


@dataclass
class Rig:
    """A router of pod 0 (`a`), to which others come."""

    url: str
    settings: Settings
    router: Router
    tell: Listener
    client: aiohttp.ClientSession

    async def get(self, path: str) -> tuple[int, str]:
        async with self.client.get(self.url + path) as response:
            return response.status, await response.text()

    async def put(self, path: str) -> tuple[int, str]:
        async with self.client.put(self.url + path, json={"token": "x", "state": "success"}) as response:
            return response.status, await response.text()

    async def post(self, path: str, body: bytes) -> tuple[int, str]:
        async with self.client.post(self.url + path, data=body) as response:
            return response.status, await response.text()


def pod(number: int, api: Api) -> Pod:
    return Pod(number, api.name, f"{LOCAL}:{api.port}")


@asynccontextmanager
async def routed(directory: Directory, **limits: Any) -> AsyncIterator[Rig]:
    """A router that is told of later directories by `tell`."""
    listeners: list[Listener] = []

    async def follow(listener: Listener) -> None:
        listeners.append(listener)

    settings = front_settings(probe_every=0.02, **limits)
    async with (
        routing(settings, directory, follow=follow) as running,
        aiohttp.ClientSession() as client,
    ):
        yield Rig(settings.url, settings, running.front, listeners[0], client)


async def test_a_held_request_goes_on_while_a_pod_comes() -> None:
    a, b = Api("a"), Api("b")
    places = {"a": 0, "b": 7}
    first = Directory(1, (pod(0, a),), {"a": 0})
    async with http_upstream(a.port, a.handle), http_upstream(b.port, b.handle), routed(first) as rig:
        held = asyncio.create_task(rig.get("/a/held"))
        await a.came.wait()
        assert await rig.get("/b/x") == (200, "a"), "what nobody knows is of the first pod"
        await rig.tell(Directory(2, (pod(0, a), pod(7, b)), places))
        assert await rig.get("/b/x") == (200, "b")
        assert await rig.get("/a/x") == (200, "a")
        assert not held.done()
        a.may_go_on.set()
        assert await held == (200, "a")


async def test_a_pod_that_moves_keeps_what_it_answers_and_what_is_held_for_it() -> None:
    old, new = Api("old"), Api("new")
    async with routed(Directory(1, (pod(0, old),)), hold=30) as rig:
        async with http_upstream(old.port, old.handle):
            running = asyncio.create_task(rig.get("/x/held"))
            await old.came.wait()
            async with http_upstream(new.port, new.handle):
                await rig.tell(Directory(2, (Pod(0, "old", f"{LOCAL}:{new.port}"),)))
                assert await rig.get("/x/y") == (200, "new")
                old.may_go_on.set()
                assert await running == (200, "old")
        held = asyncio.create_task(rig.put("/api/v4/jobs/1"))  # now nobody is there

        async def is_held() -> bool:
            return bool(len(rig.router._fronts[0].holding))

        await eventually(is_held, "the result of a job waits")
        newest = Api("newest")
        async with http_upstream(newest.port, newest.handle):
            await rig.tell(Directory(3, (Pod(0, "old", f"{LOCAL}:{newest.port}"),)))
            assert await asyncio.wait_for(held, HANGS) == (200, "newest")


@pytest.mark.parametrize("is_body_read", [False, True])
async def test_what_is_held_goes_where_its_organisation_has_moved(is_body_read: bool) -> None:
    """A pod refuses what is for an organisation that leaves; the directory tells that it has left."""
    refused = asyncio.Event()

    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/-/"):
            return web.Response(text="it is well")
        await request.read()
        refused.set()
        return web.Response(status=503)

    async def take(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=f"{request.method} {len(await request.read())}")

    a, b = Api("a"), Api("b")
    pods = pod(0, a), pod(7, b)
    path = "/acme/tool.git/info/refs?service=git-upload-pack"
    async with http_upstream(a.port, refuse), http_upstream(b.port, take), routed(Directory(1, pods), hold=30) as rig:
        call = rig.post("/acme/tool.git/git-upload-pack", b"0000") if is_body_read else rig.get(path)
        held = asyncio.create_task(call)
        await refused.wait()
        refused.clear()
        await rig.tell(Directory(2, pods, {"another": 7}))
        async with asyncio.timeout(20):
            await refused.wait()
            assert not held.done()
            await rig.tell(Directory(3, pods, {"acme": 7}))
            assert await held == (200, "POST 4" if is_body_read else "GET 0")


async def test_a_pod_that_goes_ends_what_it_has_begun() -> None:
    a, b = Api("a"), Api("b")
    async with http_upstream(a.port, a.handle), http_upstream(b.port, b.handle):
        both = Directory(1, (pod(0, a), pod(7, b)), {"b": 7})
        async with routed(both) as rig:
            going = rig.router._fronts[7]
            running = asyncio.create_task(rig.get("/b/held"))
            await b.came.wait()
            await rig.tell(Directory(2, (pod(0, a),)))
            assert set(rig.router._fronts) == {0}
            assert await rig.get(f"/api/v4/projects/{7 * 2**40 + 1}") == (404, '{"message": "404 Not Found"}')
            assert not running.done()
            b.may_go_on.set()
            assert await running == (200, "b")
            session = going._upstream._session

            async def is_closed() -> bool:
                return bool(session and session.closed)

            await eventually(is_closed, "its connections are closed")
            await rig.tell(both)
            assert await rig.get("/b/x") == (200, "b"), "it may come back"


async def test_what_is_held_for_a_pod_that_goes_gets_its_503() -> None:
    a, b = Api("a"), Api("b")
    async with http_upstream(a.port, a.handle), routed(Directory(1, (pod(0, a), pod(7, b))), hold=30) as rig:
        held = asyncio.create_task(rig.put(f"/api/v4/jobs/{7 * 2**40 + 1}"))
        going = rig.router._fronts[7]

        async def is_held() -> bool:
            return bool(len(going.holding))

        await eventually(is_held, "the result of a job waits")
        await rig.tell(Directory(2, (pod(0, a),)))
        assert (await asyncio.wait_for(held, HANGS))[0] == 503


async def test_the_keys_of_a_pod_that_is_away_are_those_that_the_directory_has() -> None:
    own = {"kty": "RSA", "kid": "a", "alg": "RS256"}
    theirs = ({"kty": "OKP", "kid": "s", "alg": "EdDSA"}, {"kty": "RSA", "kid": "b", "alg": "RS256"})
    port = free_port()

    async def keys(request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"keys": [own]})

    away = Pod(7, "b", f"{LOCAL}:{free_port()}", public_keys=theirs)
    silent = Pod(8, "c", f"{LOCAL}:{free_port()}", public_keys=theirs[:1])
    here = Pod(0, "a", f"{LOCAL}:{port}")
    async with http_upstream(port, keys), routed(Directory(1, (here, away))) as rig:
        assert await rig.get("/-/jwks") == (200, json.dumps({"keys": [own, theirs[1]]}))
        await rig.tell(Directory(2, (here, away, silent)))
        assert (await rig.get("/-/jwks"))[0] == 503, "a part of the keys is told to nobody"
        await rig.tell(Directory(3, (here,)))
        assert await rig.get("/-/jwks") == (200, json.dumps({"keys": [own]}))


async def test_each_pod_has_its_share_of_what_is_held() -> None:
    a, b = Api("a"), Api("b")
    async with routed(Directory(1, (pod(0, a),)), held=100, pod_requests=10**6) as rig:
        first = rig.router._fronts[0]
        assert isinstance(first, PodFront)
        assert (first.holding._most, first.room.most) == (100, most_of(10**6, 1))
        await rig.tell(Directory(2, (pod(0, a), pod(7, b))))
        for front in rig.router._fronts.values():
            assert isinstance(front, PodFront)
            assert (front.holding._most, front.room.most) == (50, most_of(10**6, 2))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[DirectoryProcess]:
    """A directory as a process."""
    home = tmp_path / "directory"
    home.mkdir()
    async with directory_process(home) as process:
        await process.start()
        yield process


def router_settings(home: Path, url: str, token: str) -> Settings:
    return Settings(
        home=home,
        front_port=free_port(),
        api_port=free_port(),
        front=FrontLimits(probe_every=0.02),
        directory=DirectorySettings(url=url, token=token),
    )


def told(metrics: FrontMetrics, one: Definition) -> float:
    return Scrape(generate_latest(metrics.registry).decode()).total(one)


async def test_a_router_goes_on_and_starts_again_while_its_directory_is_away(
    service: DirectoryProcess, tmp_path: Path
) -> None:
    """Three starts of the directory's process."""
    a, b = Api("a"), Api("b")
    settings = router_settings(tmp_path / "router", service.url, service.read)
    cache = settings.home / CACHE
    async with AsyncExitStack() as stack:
        for api in (a, b):
            await stack.enter_async_context(http_upstream(api.port, api.handle))
        client = await stack.enter_async_context(aiohttp.ClientSession())
        admin = await stack.enter_async_context(service.client())

        async def get(path: str) -> tuple[int, str]:
            async with client.get(settings.url + path) as response:
                return response.status, await response.text()

        await admin.put_pod(0, name="a", address=f"{LOCAL}:{a.port}")
        metrics = FrontMetrics()
        async with front_module._opened(settings, (), metrics):
            assert await get("/x") == (200, "a")
            assert told(metrics, names.FRONT_DIRECTORY_AWAY) == 0
            assert told(metrics, names.FRONT_DIRECTORY_VERSION) == 1
            held = asyncio.create_task(get("/a/held"))
            await a.came.wait()
            await service.kill()
            assert await get("/x") == (200, "a")

            async def is_seen() -> bool:
                return told(metrics, names.FRONT_DIRECTORY_AWAY) == 1

            await eventually(is_seen, "operators see that it is away")
            await service.start()
            await admin.put_pod(7, name="b", address=f"{LOCAL}:{b.port}")

            async def knows_the_new_pod() -> bool:
                return (await get(f"/api/v4/projects/{7 * 2**40 + 1}")) == (200, "b")

            await eventually(knows_the_new_pod, "the new pod is reached")
            assert not held.done()
            a.may_go_on.set()
            assert await held == (200, "a")

            async def is_kept() -> bool:
                return set(read_directory(cache).by_number) == {0, 7}

            await eventually(is_kept, "the copy is kept")

            async def is_back() -> bool:
                return told(metrics, names.FRONT_DIRECTORY_AWAY) == 0

            await eventually(is_back, "operators see that it is back")
            assert told(metrics, names.FRONT_DIRECTORY_VERSION) == 2
        await service.kill()
        async with front_module._opened(settings, (), FrontMetrics()):
            assert await get(f"/api/v4/projects/{7 * 2**40 + 1}") == (200, "b")


async def test_a_router_that_never_heard_of_its_pods_ends_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_module, "FIRST_DIRECTORY", 0.2)
    settings = router_settings(tmp_path, f"http://{LOCAL}:{free_port()}", "x")
    with pytest.raises(Unavailable, match="has not been heard of yet"):
        async with _opened(settings, (), FrontMetrics()):
            pass


async def test_a_router_has_one_directory(tmp_path: Path) -> None:
    settings = router_settings(tmp_path, "http://d", "x")
    both = settings.model_copy(update={"front": FrontLimits(directory=tmp_path / "pods.json")})
    with pytest.raises(Invalid, match="a router has one of the two"):
        async with _opened(both, (), FrontMetrics()):
            pass
    no_token = router_settings(tmp_path, "http://d", "")
    async with _opened(no_token, (), FrontMetrics()) as running:
        assert not isinstance(running.front, Router), "a pod's own front is none"
