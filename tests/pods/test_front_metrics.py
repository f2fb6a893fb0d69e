"""What the front counts."""

import asyncio

import aiohttp
from prometheus_client import generate_latest

from metrics import names
from metrics.definition import Definition
from metrics.front_metrics import FrontMetrics
from pods.front import serving
from pods.metrics_port import telling
from rigs.ports import LOCAL, free_port
from tests.metrics.scraping import Scrape
from tests.pods.test_front import echo
from tests.pods.upstreams import front_settings, http_upstream
from tests.waiting import eventually


def total(metrics: FrontMetrics, one: Definition, **labels: str) -> float:
    return Scrape(generate_latest(metrics.registry).decode()).total(one, **labels)


async def test_a_held_request_is_seen_while_it_waits_and_counted_when_it_is_answered() -> None:
    settings, metrics = front_settings(hold=20, probe_every=0.05), FrontMetrics()
    async with serving(settings, metrics=metrics), aiohttp.ClientSession() as client:
        fetching = asyncio.create_task(client.get(f"{settings.url}/group/tool.git/info/refs"))

        async def is_held() -> bool:
            return total(metrics, names.FRONT_HELD, kind="git refs") == 1

        await eventually(is_held, "the request is held")
        assert total(metrics, names.FRONT_OPEN, kind="git refs") == 1
        async with http_upstream(settings.api_port, echo):
            (await fetching).close()
        assert total(metrics, names.FRONT_HELD) == total(metrics, names.FRONT_OPEN) == 0
        assert total(metrics, names.FRONT_AWAY, kind="git refs") >= 1
        assert total(metrics, names.FRONT_REQUESTS, kind="git refs", status="201") == 1
        assert total(metrics, names.FRONT_DURATION, kind="git refs") == 1


async def test_a_refused_poll_is_counted_as_such() -> None:
    settings, metrics = front_settings(), FrontMetrics()
    async with (
        serving(settings, metrics=metrics),
        aiohttp.ClientSession() as client,
        client.post(f"{settings.url}/api/v4/jobs/request", data=b"x") as response,
    ):
        assert response.status == 503
        assert total(metrics, names.FRONT_REQUESTS, kind="poll", status="503") == 1


async def test_the_front_tells_them_on_their_own_port_only() -> None:
    port = free_port()
    settings, metrics = front_settings(), FrontMetrics()
    async with (
        serving(settings, metrics=metrics),
        telling(metrics, LOCAL, port, "PERDURE_FRONT_METRICS_PORT"),
        aiohttp.ClientSession() as client,
    ):

        async def answers() -> str:
            try:
                async with client.get(f"http://127.0.0.1:{port}/metrics") as response:
                    return await response.text()
            except aiohttp.ClientError:
                return ""

        assert "perdure_front_requests_total" in await eventually(answers, "the metrics are told")
        async with client.get(f"{settings.url}/metrics") as response:
            assert response.status == 503, "without an API there is nobody who answers"
            assert "perdure_front" not in await response.text()
