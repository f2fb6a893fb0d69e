"""The metrics of the Temporal SDK."""

import socket

import httpx

from activities.temporal_runtime import counting_runtime
from rigs.ports import LOCAL, free_port
from tests.waiting import HANGS


async def test_it_tells_them_on_the_loopback() -> None:
    port = free_port()
    runtime = counting_runtime(port)
    assert runtime is not None
    runtime.metric_meter.create_counter("temporal_test", "A counter").add(2)
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
        response = await client.get(f"http://{LOCAL}:{port}/metrics")
    assert "temporal_test_total" in response.text


def test_without_a_port_or_with_one_that_is_taken_the_process_goes_on_without_them() -> None:
    assert counting_runtime(0) is None
    with socket.create_server((LOCAL, 0)) as taken:
        assert counting_runtime(taken.getsockname()[1]) is None
