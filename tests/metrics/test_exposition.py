"""The address at which metrics are read."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter

from metrics.exposition import Exposition, serve, served
from metrics.foreign import text_of
from rigs.ports import LOCAL, free_port
from tests.waiting import eventually


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def exposition() -> Exposition:
    registry = CollectorRegistry()
    Counter("perdure_things", "Things", registry=registry).inc(3)
    return Exposition(registry)


async def test_it_answers_one_path_and_reading_only(client: aiohttp.ClientSession) -> None:
    port = free_port()
    found = {}
    async with served(exposition(), LOCAL, port):
        for method, path in (("GET", "/metrics"), ("POST", "/metrics"), ("GET", "/metrics/x"), ("GET", "/api/v4/jobs")):
            async with client.request(method, f"http://{LOCAL}:{port}{path}") as response:
                found[method, path] = response.status, "perdure_things_total 3.0" in await response.text()
    assert found == {
        ("GET", "/metrics"): (200, True),
        ("POST", "/metrics"): (405, False),
        ("GET", "/metrics/x"): (404, False),
        ("GET", "/api/v4/jobs"): (404, False),
    }


async def test_a_port_that_is_taken_is_told_once_and_tried_again(client: aiohttp.ClientSession) -> None:
    """The process goes on meanwhile, and its metrics are told as soon as the other one has gone."""
    port, told = free_port(), list[OSError]()
    async with served(exposition(), LOCAL, port):
        later = Exposition(CollectorRegistry())
        serving = asyncio.create_task(serve(later, LOCAL, port, told.append, again=0.05))

        async def was_told() -> bool:
            return bool(told)

        await eventually(was_told, "the taken port is told")

    async def answers() -> bool:
        try:
            async with client.get(f"http://{LOCAL}:{port}/metrics") as response:
                return "perdure_things" not in await response.text()
        except aiohttp.ClientError:
            return False

    await eventually(answers, "the port is served by the other one")
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    assert len(told) == 1


async def test_what_a_library_tells_is_added_and_its_absence_hides_nothing(client: aiohttp.ClientSession) -> None:
    async def library(_: web.BaseRequest) -> web.Response:
        return web.Response(text="temporal_long_request 1\n")

    other, port = free_port(), free_port()
    runner = web.ServerRunner(web.Server(library))
    await runner.setup()
    await web.TCPSite(runner, LOCAL, other).start()
    registry = CollectorRegistry()
    Counter("perdure_things", "Things", registry=registry)
    both = Exposition(registry, more=[text_of(f"http://{LOCAL}:{other}/metrics")])
    texts = []
    async with served(both, LOCAL, port):
        for close in (False, True):
            if close:
                await runner.cleanup()
            async with client.get(f"http://{LOCAL}:{port}/metrics") as response:
                texts.append(await response.text())
    assert ["temporal_long_request" in text for text in texts] == [True, False]
    assert all("perdure_things_total" in text for text in texts)
