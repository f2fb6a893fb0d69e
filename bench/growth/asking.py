"""A small and a large home that run, asked in turn: lists, pages, claims, what they tell and what they do at rest."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any, Final

import orjson

from bench.growth.rows import Home
from bench.http_connection import Answer, Connection
from bench.rows import Row, Side
from bench.servers import Servers

MAX_RATIO: Final = 1.5
NOTHING: Final = 0.002
"""Seconds: what takes so little longer than small is within its bar whatever the ratio."""
IDLE: Final = 60.0
CLAIMS: Final = 20

LISTS: Final[Mapping[str, str]] = {
    "projects/:id/jobs": "/api/v4/projects/{project}/jobs?per_page=5",
    "projects/:id/jobs that failed": "/api/v4/projects/{project}/jobs?per_page=5&scope[]=failed",
    "projects/:id/pipelines": "/api/v4/projects/{project}/pipelines?per_page=5",
    "pipelines of a ref": "/api/v4/projects/{project}/pipelines?per_page=5&ref=main",
    "runners": "/api/v4/runners/all?per_page=5",
    "runners/:id": "/api/v4/runners/{runner}",
    "runners/:id/jobs": "/api/v4/runners/{runner}/jobs?per_page=5",
    "environments": "/api/v4/projects/{project}/environments?per_page=5",
    "deployments": "/api/v4/projects/{project}/deployments?per_page=5",
    "projects with statistics": "/api/v4/projects?statistics=true&per_page=20",
    "a job": "/api/v4/projects/{project}/jobs/{job}",
    "a pipeline": "/api/v4/projects/{project}/pipelines/{pipeline}",
    "jobs of a pipeline": "/api/v4/projects/{project}/pipelines/{pipeline}/jobs",
    "page: pipelines": "/year/p0/-/pipelines",
    "page: a pipeline": "/year/p0/-/pipelines/{pipeline}",
    "page: a job": "/year/p0/-/jobs/{job}",
    "page: environments": "/year/p0/-/environments",
}
"""Of the largest project, of the runner that has had most, of a pipeline at the beginning."""


@dataclass(frozen=True, slots=True)
class Running:
    """A home and the servers of it."""

    home: Home
    servers: Servers

    def connection(self) -> Connection:
        """A way to its API."""
        return Connection("127.0.0.1", self.servers.port)

    def path(self, form: str) -> str:
        """An address with the ids of this home."""
        first = {"project": self.home.projects[0], "runner": self.home.runners[0], "job": 1, "pipeline": 1}
        return form.format(**first)

    @property
    def headers(self) -> tuple[bytes, ...]:
        """The headers of the administrator's calls."""
        return (f"private-token: {self.servers.token}".encode(), b"accept: application/json, text/html")

    async def get(self, connection: Connection, form: str) -> Answer:
        """The answer of an address to the administrator. Raises `RuntimeError` unless it is 200."""
        answer = await connection.request("GET", self.path(form), headers=self.headers)
        if answer.status != 200:
            raise RuntimeError(f"{self.path(form)} was answered {answer.status}: {bytes(answer.body[:200])!r}")
        return answer


Asked = Callable[[Running], Awaitable[object]]


async def lists(kind: str, sides: Sequence[Running], visits: int) -> list[Row]:
    """Each list and page, asked in turn."""
    found = []
    for name, form in LISTS.items():
        ways = {id(side): side.connection() for side in sides}

        async def ask(side: Running, ways: Mapping[int, Connection] = ways, form: str = form) -> object:
            return await side.get(ways[id(side)], form)

        found += compared(f"growth, {kind}: {name}", await in_turn(sides, ask, visits))
        for way in ways.values():
            way.close()
    return found


async def claims(kind: str, sides: Sequence[Running]) -> list[Row]:
    """Requests for a job of a runner that may take none, then of one that may take all."""
    fitting = {id(side): await _runner(side, run_untagged=True) for side in sides}
    foreign = {id(side): await _runner(side, run_untagged=False) for side in sides}
    ways = {id(side): side.connection() for side in sides}

    async def ask(tokens: Mapping[int, str], side: Running, expected: int) -> None:
        question = orjson.dumps({"token": tokens[id(side)], "system_id": "s_bench", "info": {"features": {}}})
        answer = await ways[id(side)].request("POST", "/api/v4/jobs/request", question, (_JSON,))
        if answer.status != expected:
            raise RuntimeError(f"a request for a job was answered {answer.status}: {bytes(answer.body[:200])!r}")

    found = []
    for name, tokens, status in (("nothing", foreign, 204), ("a job", fitting, 201)):

        async def claim(side: Running, tokens: Mapping[int, str] = tokens, status: int = status) -> None:
            await ask(tokens, side, status)

        found += compared(f"growth, {kind}: claim, {name}", await in_turn(sides, claim, CLAIMS))
    for way in ways.values():
        way.close()
    return found


async def scrapes(kind: str, sides: Sequence[Running], visits: int) -> list[Row]:
    """Readings of the metrics of each side's process."""
    ways = {id(side): Connection("127.0.0.1", side.servers.settings.metrics_port) for side in sides}

    async def scrape(side: Running) -> None:
        answer = await ways[id(side)].request("GET", "/metrics")
        if answer.status != 200:
            raise RuntimeError(f"metrics were answered {answer.status}")

    return compared(f"growth, {kind}: scrape", await in_turn(sides, scrape, visits))


async def idle(kind: str, sides: Sequence[Running]) -> list[Row]:
    """Processor time of both in the same minute, in which nobody asks for anything."""
    before = [side.servers.cpu()["api"] for side in sides]
    await asyncio.sleep(IDLE)
    took = [side.servers.cpu()["api"] - used for side, used in zip(sides, before, strict=True)]
    return compared(f"growth, {kind}: at rest, processor in a minute", took, least=0.5)


async def in_turn(sides: Sequence[Running], ask: Asked, visits: int) -> list[float]:
    """Seconds of each side, of visits that take turns: lower quartiles, since what else runs only ever adds to them.

    The first of each does not count.
    """
    took: list[list[float]] = [[] for _ in sides]
    for _ in range(visits + 1):
        for number, side in enumerate(sides):
            begin = time.perf_counter()
            await ask(side)
            took[number].append(time.perf_counter() - begin)
    return [quantiles(seconds[1:])[0] for seconds in took]


def compared(name: str, took: Sequence[float], *, least: float = NOTHING) -> list[Row]:
    """Small and large in milliseconds, and the ratio, which is 1 where they are as good as the same."""
    small, large = took
    ratio = 1.0 if large - small < least else large / small
    return [
        Row(f"{name}, small", small * 1e3, "ms"),
        Row(f"{name}, large", large * 1e3, "ms"),
        Row(f"{name}, large / small", ratio, "ratio", MAX_RATIO, Side.AT_MOST),
    ]


_JSON: Final = b"content-type: application/json"


async def _runner(side: Running, **values: Any) -> str:
    """The token of a further instance runner."""
    way = side.connection()
    tags = {} if values["run_untagged"] else {"tag_list": "of-no-job"}
    body = orjson.dumps({"runner_type": "instance_type", "description": "bench", **values, **tags})
    answer = await way.request("POST", "/api/v4/user/runners", body, (*side.headers, _JSON))
    way.close()
    if answer.status != 201:
        raise RuntimeError(f"a runner was answered {answer.status}: {bytes(answer.body[:200])!r}")
    return str(orjson.loads(answer.body)["token"])
