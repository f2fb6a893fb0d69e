"""How much of the router one pod may take."""

import asyncio
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import generate_latest

from domain.pods.directory import Directory, Pod
from metrics import names
from metrics.definition import Definition
from metrics.front_metrics import FrontMetrics
from pods.front import routing
from pods.room import Full, Room, most_of
from rigs.ports import LOCAL, free_ports
from tests.metrics.scraping import Scrape
from tests.pods.upstreams import front_settings, http_upstream
from tests.waiting import eventually

MAX_REQUESTS = 5
REFUSED = (("GET", "/x", "5"), ("PUT", "/api/v4/jobs/7", "30"), ("PATCH", "/api/v4/jobs/7/trace", "5"))


@dataclass
class Hanging:
    """A pod that takes requests and answers none until it may."""

    came: int = 0
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, _: web.BaseRequest) -> web.StreamResponse:
        self.came += 1
        await self.go_on.wait()
        return web.Response(text="late")


async def answering(_: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text="soon")


def total(metrics: FrontMetrics, one: Definition, pod: str) -> float:
    return Scrape(generate_latest(metrics.registry).decode()).total(one, pod=pod)


async def test_a_pod_that_hangs_has_its_places_and_no_more() -> None:
    """Polls, which are held by the pod, and everything else count; health of the router itself does not."""
    ports, hanging, metrics = free_ports(2), Hanging(), FrontMetrics()
    pods = tuple(
        Pod(number, name, f"{LOCAL}:{port}") for number, name, port in ((0, "a", ports[0]), (7, "b", ports[1]))
    )
    settings = front_settings(pod_requests=MAX_REQUESTS)
    async with (
        http_upstream(ports[0], hanging.handle),
        http_upstream(ports[1], answering),
        routing(settings, Directory(1, pods, {"acme": 7}), metrics=metrics),
        aiohttp.ClientSession() as client,
    ):
        calls = [asyncio.create_task(client.get(f"{settings.url}/x")) for _ in range(MAX_REQUESTS)]

        async def all_hang() -> bool:
            return hanging.came == MAX_REQUESTS

        await eventually(all_hang, "all requests hang")
        for method, path, seconds in (
            ("GET", "/x", "5"),
            ("PUT", "/api/v4/jobs/7", "30"),
            ("PATCH", "/api/v4/jobs/7/trace", "5"),
        ):
            async with client.request(method, settings.url + path, data=b"" if method == "GET" else b"{}") as response:
                assert (response.status, response.headers["Retry-After"]) == (503, seconds)
                assert "PERDURE_FRONT_POD_REQUESTS" in await response.text()
        async with client.get(f"{settings.url}/-/front/health") as response:
            assert response.status == 200
        for _ in range(2 * MAX_REQUESTS):
            async with client.get(f"{settings.url}/acme") as response:
                assert await response.text() == "soon"
        assert (total(metrics, names.FRONT_POD_OPEN, "a"), total(metrics, names.FRONT_POD_REFUSED, "a")) == (
            MAX_REQUESTS,
            3,
        )
        assert (total(metrics, names.FRONT_POD_OPEN, "b"), total(metrics, names.FRONT_POD_REFUSED, "b")) == (0, 0)
        hanging.go_on.set()
        assert [(await call).status for call in calls] == [200] * MAX_REQUESTS
        async with client.get(f"{settings.url}/x") as response:
            assert await response.text() == "late"
    assert total(metrics, names.FRONT_POD_OPEN, "a") == 0


def test_a_place_is_free_again_whatever_became_of_its_request() -> None:
    room = Room(1)
    with pytest.raises(OSError), room.place():
        raise OSError
    with room.place(), pytest.raises(Full), room.place():
        pass
    with room.place():
        pass


def test_a_share_is_never_more_than_the_files_that_may_be_open() -> None:
    assert most_of(10, 2) == 10
    assert most_of(10**9, 4) * 4 * 2 <= 2 * most_of(10**9, 1) <= 10**9
