"""The HTTP API of the embedded Temporal is closed: any page in a browser here could start workflows by it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from pods.stack import stack
from rigs.ports import LOCAL, free_port
from settings import Settings
from tests.program import Program, running
from tests.waiting import HANGS, eventually

START = '{"workflowType": {"name": "X"}, "taskQueue": {"name": "q"}}'


@asynccontextmanager
async def embedded(home: Path, **values: Any) -> AsyncIterator[tuple[str, str]]:
    """The Temporal that `perdure up` starts; the addresses of its HTTP API and of its pages."""
    names = ("temporal_port", "temporal_ui_port", "temporal_http_port", "temporal_metrics_port")
    ports: dict[str, Any] = {name: free_port() for name in names}
    settings = Settings(home=home, **ports, **values)
    child = next(child for child in stack(settings) if child.name == "temporal")
    async with (
        running(Program(child.argv, home / "temporal.log", env=dict(child.env))),
        httpx.AsyncClient(timeout=HANGS) as client,
    ):
        pages = f"http://{LOCAL}:{settings.temporal_ui_port}"

        async def answers() -> bool:
            try:
                return (await client.get(f"{pages}/api/v1/namespaces")).status_code == httpx.codes.OK
            except httpx.TransportError:
                return False

        await eventually(answers, "Temporal answers its own pages", 60.0)
        yield f"http://{LOCAL}:{settings.temporal_http_port}", pages


async def ask(url: str, host: str, content: str = START) -> int:
    """Start a workflow as a page can, without asking the server beforehand whether it may."""
    headers = {"Content-Type": "text/plain", "Origin": "http://evil.example", "Host": host}
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
        way = f"{url}/api/v1/namespaces/default/workflows/w-{len(host)}"
        return (await client.post(way, content=content, headers=headers)).status_code


async def test_nobody_starts_a_workflow_by_it(tmp_path: Path) -> None:
    async with embedded(tmp_path) as (url, pages):
        port = url.rpartition(":")[2]
        for host in (f"{LOCAL}:{port}", f"localhost:{port}", LOCAL, "evil.example"):
            assert await ask(url, host) == httpx.codes.FORBIDDEN, host
        # No host at all: the server closes such a connection at once, and what was not read would break the response.
        assert await ask(url, "closed to all", "") == httpx.codes.BAD_REQUEST
        assert await ask(pages, pages.removeprefix("http://")) == httpx.codes.BAD_REQUEST, "no token of its own pages"


async def test_who_asks_for_it_has_it_by_that_name(tmp_path: Path) -> None:
    async with embedded(tmp_path, temporal_http_hosts="ci.example, other") as (url, _):
        assert await ask(url, "ci.example") == httpx.codes.OK
        assert await ask(url, "evil.example") == httpx.codes.FORBIDDEN
