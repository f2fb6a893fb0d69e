"""The queue: what polls cost, how fast pending jobs are handed out, and how soon a waiting runner has its job.

On PostgreSQL with two API processes, and on SQLite with one process; the runners are processes of their own.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from bench.bare_claims import claims_per_second
from bench.options import Options
from bench.queue import stock as queue_stock
from bench.queue.servers import QueueServers, on_postgres, on_sqlite
from bench.queue.stock import Size, Stock
from bench.rows import Row, Side
from bench.servers import ask_module
from models.session import Database

RUNNERS: Final = 1_000
CLIENTS: Final = 20
PROJECTS: Final = 50
JOBS: Final = 200
"""Jobs of one project."""
WAITING: Final = 200
RUNG: Final = 600
OPEN_SECONDS: Final = 30.0
HELD_SECONDS: Final = 50.0
RING_SECONDS: Final = 30.0

MAX_POLL: Final = 1_000.0
LEAST_CLAIMS: Final = 200.0
MAX_IDLE: Final = 5.0
MAX_MEDIAN: Final = 30.0
MOST_P99: Final = 200.0

Start = Callable[[], AbstractAsyncContextManager[QueueServers]]
KINDS: Final[tuple[tuple[str, Start], ...]] = (("PostgreSQL", on_postgres), ("SQLite", on_sqlite))


@dataclass(frozen=True, slots=True)
class Bench:
    """Servers with their database."""

    name: str
    servers: QueueServers
    database: Database

    def bar(self, value: float) -> float | None:
        """A bar for many processes; one process with SQLite has figures of its own."""
        return None if self.database.is_sqlite else value

    async def load(self, kind: str, runners: list[str], **order: Any) -> tuple[dict[str, float], dict[str, float]]:
        """Figures of the load, and seconds of processor time by process meanwhile, the load's own included."""
        before = self.servers.cpu()
        found = await ask_module(
            "bench.queue.load", {"kind": kind, "ports": self.servers.ports, "runners": runners, **order}
        )
        spent = {name: after - before[name] for name, after in self.servers.cpu().items()}
        print(f"{self.name}, {kind}: {found} {spent}", file=sys.stderr)
        return found, {**spent, "load": found["cpu"]}

    async def stock(self, size: Size) -> Stock:
        """What this measurement needs."""
        return await queue_stock.make(self.database, size)


def rows(options: Options) -> list[Row]:
    """Measure each kind once."""
    del options
    return [row for name, start in KINDS for row in asyncio.run(_measure(name, start))]


async def _measure(name: str, start: Start) -> list[Row]:
    table: list[Row] = []
    for measure in (_idle, _open_loop, _ring, _drain):
        async with _running(name, start) as bench:
            table += await measure(bench)
    return table


@asynccontextmanager
async def _running(name: str, start: Start) -> AsyncIterator[Bench]:
    async with start() as servers:
        database = Database(servers.settings.database)
        try:
            yield Bench(name, servers, database)
        finally:
            await database.close()


async def _idle(bench: Bench) -> list[Row]:
    stock = await bench.stock(Size(fitting=RUNNERS))
    watched = [process.pid for name, process in bench.servers.processes.items() if name not in {"temporal", "worker"}]
    found, spent = await bench.load("idle", list(stock.fitting), seconds=HELD_SECONDS, watched=watched)
    name = f"queue, {bench.name}: {RUNNERS} requests held {HELD_SECONDS:g} s"
    return [
        Row(f"{name}, API", found["percent"], "% of a core", MAX_IDLE, Side.AT_MOST),
        Row(f"{name}, requests meanwhile", found["polls"], "requests"),
        Row(f"{name}, load", spent["load"], "s CPU"),
    ]


async def _open_loop(bench: Bench) -> list[Row]:
    third = RUNNERS // 3
    stock = await bench.stock(Size(PROJECTS, JOBS, fitting=third, unfitting=RUNNERS - third))
    await queue_stock.make_pending(bench.database, stock.all_jobs)
    runners = _mixed(stock)
    found, spent = await bench.load("open_loop", runners, seconds=OPEN_SECONDS)
    name = f"queue, {bench.name}: {RUNNERS} runners each 3 s"
    return [
        Row(f"{name}, rate", found["polls"] / OPEN_SECONDS, "requests/s"),
        Row(f"{name}, p50", found["p50"], "ms"),
        Row(f"{name}, p99", found["p99"], "ms", bench.bar(MAX_POLL), Side.AT_MOST),
        Row(f"{name}, p99 of the first 3 s after a start", found["first"], "ms"),
        *_cores(name, spent, OPEN_SECONDS),
    ]


def _mixed(stock: Stock) -> list[str]:
    """One that fits, two that do not, and so on, on each API process alike."""
    unfitting = iter(stock.unfitting)
    mixed = [token for fitting in stock.fitting for token in (fitting, next(unfitting), next(unfitting))]
    return [*mixed, *unfitting]


async def _ring(bench: Bench) -> list[Row]:
    stock = await bench.stock(Size(RUNG // JOBS, JOBS, fitting=WAITING))
    order = {"jobs": stock.all_jobs, "bell": bench.servers.bell, "seconds": RING_SECONDS}
    found, spent = await bench.load("ring", list(stock.fitting), **order)
    name = f"queue, {bench.name}: pending to its runner, {WAITING} wait, {RUNG / RING_SECONDS:g} jobs/s"
    return [
        Row(f"{name}, p50", found["p50"], "ms", MAX_MEDIAN, Side.AT_MOST),
        Row(f"{name}, p99", found["p99"], "ms", MOST_P99, Side.AT_MOST),
        *_cores(name, spent, RING_SECONDS),
    ]


async def _drain(bench: Bench) -> list[Row]:
    stock = await bench.stock(Size(PROJECTS, JOBS, fitting=CLIENTS))
    await queue_stock.make_pending(bench.database, stock.all_jobs)
    found, spent = await bench.load("drain", list(stock.fitting), projects=PROJECTS, jobs=stock.all_jobs)
    once = await queue_stock.handed_out(bench.database, stock.all_jobs) == {1: len(stock.all_jobs)}
    name = f"queue, {bench.name}: {CLIENTS} clients take {len(stock.all_jobs)} jobs"
    table = [
        Row(name, found["claims"], "claims/s", bench.bar(LEAST_CLAIMS)),
        Row(f"{name}, each once", float(once and found["once"]), "1 is yes", 1.0),
        Row(f"{name}, largest spread of {PROJECTS} projects", found["spread"], "jobs", CLIENTS, Side.AT_MOST),
        *_cores(name, spent, len(stock.all_jobs) / found["claims"]),
    ]
    if not bench.database.is_sqlite:
        bare = await claims_per_second(bench.database.url, CLIENTS, len(stock.all_jobs))
        table.append(Row(f"{name}, share of a bare SKIP LOCKED", found["claims"] / bare, "ratio"))
    return table


def _cores(name: str, spent: Mapping[str, float], seconds: float) -> list[Row]:
    return [Row(f"{name}, CPU of {process}", used / seconds, "cores") for process, used in spent.items()]
