"""Requests a second and p99 through the embedded router and through nginx, against asking the pod itself, in one run.

The ways take turns, window by window; a ratio is the median of those of the rounds. What has a bar is measured with the
real pod, which is what users see; the fast one shows what a router costs where its pod costs nothing.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from statistics import median, quantiles
from typing import Any, Final

from bench.options import Options
from bench.router.bulk import SIZE
from bench.router.load import Order
from bench.router.servers import BULK, FAST, Site, site
from bench.rows import Row, Side
from bench.servers import ask_module
from domain.pods.directory import Directory, Pod
from domain.pods.routable_token import Route, spelled
from domain.pods.routing import Head, decide
from domain.pods.token_prefixes import PERSONAL

WAYS: Final = ("direct", "embedded", "nginx", "cached")
ROUTED: Final = {"embedded": "embedded", "nginx": "nginx", "cached": "nginx, answers kept 2 s"}
LEAST: Final = {"embedded": 0.4, "nginx": 0.8}
MAX_DECISION: Final = 20.0
"""Microseconds."""
MAX_GROWTH: Final = 64.0
"""MiB while 1 GiB passes."""
POLLS: Final = 1_000
PACE: Final = 100.0
"""Requests a second of which the p99 is told: a rate that every way bears."""
_DECISIONS: Final = 20_000
_PATH: Final = "/api/v4/user"


def rows(options: Options) -> list[Row]:
    """Measure: as many rounds of windows as there are runs, and one more."""
    return [*decisions(), *asyncio.run(measure(options.runs + 2))]


def decisions() -> list[Row]:
    """The decision alone, of six kinds of calls."""
    pods = tuple(Pod(number, str(number)) for number in range(100))
    directory = Directory(1, pods, {f"group-{number}": number % 100 for number in range(10_000)})
    took = []
    for number in range(_DECISIONS):
        head = _heads(number)[number % 6]
        begun = time.perf_counter_ns()
        decide(head, directory)
        took.append((time.perf_counter_ns() - begun) / 1e3)
    parts = quantiles(took, n=100)
    name = "router: the decision alone, 100 pods, 10,000 organisations"
    return [
        Row(f"{name}: p50", parts[49], "us", MAX_DECISION, Side.AT_MOST),
        Row(f"{name}: p99", parts[98], "us"),
    ]


def _heads(number: int) -> tuple[Head, ...]:
    token = spelled(PERSONAL, Route(number % 100, organisation_id=number), number.to_bytes(16))
    return (
        Head("GET", "/api/v4/user", {"private-token": token}),
        Head("POST", "/api/v4/jobs/request", {"runner-token": token}),
        Head("PATCH", f"/api/v4/jobs/{number}/trace", {"authorization": f"Bearer {token}"}),
        Head("GET", f"/api/v4/projects/group-{number % 10_000}%2Fapp/pipelines", {}),
        Head("GET", f"/group-{number % 10_000}/app.git/info/refs", {}),
        Head("POST", "/api/v4/jobs/request", {}),
    )


async def measure(rounds: int) -> list[Row]:
    """With all servers of their own."""
    async with site() as there:
        found = []
        for pod, name, bars in ((0, "the real API", LEAST), (FAST, "a constant of nginx", {})):
            found += _said(await _throughput(there, pod, f"router, {name}", rounds, bars))
        found += _said(await _paced(there))
        for way, name in ROUTED.items():
            if way != "cached":
                found += _said([*await _bulk(there, way, name), *await _polls(there, way, name)])
        return found


def _said(found: list[Row]) -> list[Row]:
    """The same, told to who waits for the end."""
    for row in found:
        print(f"{row.name}: {row.measured:,.2f} {row.unit}", file=sys.stderr)
    return found


async def _throughput(there: Site, pod: int, name: str, rounds: int, bars: Mapping[str, float]) -> list[Row]:
    windows: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for number in range(-1, rounds):
        for way in (*WAYS[number % len(WAYS) :], *WAYS[: number % len(WAYS)]):
            before = there.cpu(way, pod)
            figures = await _load(there, way, pod, "closed", seconds=1.0 if number < 0 else 4.0)
            between, served = (spent - begun for spent, begun in zip(there.cpu(way, pod), before, strict=True))
            if number >= 0:  # the first round is for warming up
                each = 1e6 / figures["requests"]
                windows[way].append({**figures, "between": between * each, "served": served * each})
    found = [
        Row(f"{name}: direct", median(one["rate"] for one in windows["direct"]), "requests/s"),
        Row(f"{name}: CPU of the pod", median(one["served"] for one in windows["direct"]), "us/request"),
    ]
    for way, label in ROUTED.items():
        ratios = [one["rate"] / base["rate"] for one, base in zip(windows[way], windows["direct"], strict=True)]
        found.append(Row(f"{name}: {label}", median(one["rate"] for one in windows[way]), "requests/s"))
        found.append(Row(f"{name}: {label} / direct", median(ratios), "", bars.get(way)))
        spent = median(one["between"] for one in windows[way])
        found.append(Row(f"{name}: {label}: CPU of what is between", spent, "us/request"))
    return found


async def _paced(there: Site) -> list[Row]:
    windows: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(3):
        for way in WAYS:
            windows[way].append(await _load(there, way, 0, "paced", rate=PACE, seconds=5.0))
    return [
        Row(f"router, the real API, {PACE:.0f} requests/s: {part}, {ROUTED.get(way, way)}", value * 1e3, "ms")
        for way in WAYS
        for part in ("p50", "p99")
        for value in [median(one[part] for one in windows[way])]
    ]


async def _bulk(there: Site, way: str, name: str) -> list[Row]:
    """1 GiB each way, as an artifact goes; the growth is that of the most memory meanwhile."""
    found = []
    for kind in ("up", "down"):
        async with _growth(there, way) as growth:
            figures = await _load(there, way, BULK, kind, path="/api/v4/jobs/7/artifacts", size=SIZE)
        found.append(Row(f"router, 1 GiB {kind}, {name}", figures["rate"] / 1024**2, "MiB/s"))
        found.append(Row(f"router, 1 GiB {kind}, {name}: memory on top", max(growth), "MiB", MAX_GROWTH, Side.AT_MOST))
    return found


async def _polls(there: Site, way: str, name: str) -> list[Row]:
    """Polls that are held at once, and what others take meanwhile."""
    before = await _load(there, way, FAST, "paced", rate=PACE, seconds=5.0)
    async with _growth(there, way) as growth:
        polls = asyncio.create_task(_load(there, way, BULK, "held", path="/api/v4/jobs/request", connections=POLLS))
        await asyncio.sleep(5)
        meanwhile = await _load(there, way, FAST, "paced", rate=PACE, seconds=5.0)
        held = await polls
    title = f"router, {POLLS:,} held polls, {name}"
    return [
        Row(f"{title}: answered", held["answered"], "", POLLS),
        Row(f"{title}: the last", held["slowest"], "s"),
        Row(f"{title}: memory on top", max(growth), "MiB"),
        Row(f"{title}: p99 of another pod before", before["p99"] * 1e3, "ms"),
        Row(f"{title}: p99 of another pod meanwhile", meanwhile["p99"] * 1e3, "ms"),
    ]


@asynccontextmanager
async def _growth(there: Site, way: str) -> AsyncIterator[list[float]]:
    """MiB more than at the beginning, sampled all along."""
    before, samples = there.memory(way), [0.0]

    async def look() -> None:
        while True:
            samples.append(there.memory(way) - before)
            await asyncio.sleep(0.05)

    looking = asyncio.create_task(look())
    try:
        yield samples
    finally:
        looking.cancel()


async def _load(there: Site, way: str, pod: int, kind: str, path: str = _PATH, **more: Any) -> dict[str, float]:
    order = Order(kind, there.port(way, pod), path, f"PRIVATE-TOKEN: {there.tokens[pod]}", **more)
    return await ask_module("bench.router.load", asdict(order))
