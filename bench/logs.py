"""Logs and large files: 200 jobs send their logs at the same time, slow readers watch, and 1 GiB goes up and down.

Beside it, in the same run, the same chunks go to a server of the same kind that drops them. On PostgreSQL with its own
settings (what it acknowledged is on the disk) and on SQLite; one process serves the API and moves the logs.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Final

import psutil

from bench.held_jobs import HeldJobs, end, hold
from bench.log_load import CHUNK, Order
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, ask_module, cpu_seconds, running, started
from pods.child import Child, Ready
from rigs.ports import free_ports
from rigs.postgres import fresh_database, postgres_server
from settings import SizeLimits

MEBIBYTE: Final = 1024 * 1024
MAX_GROWTH: Final = 32.0
"""MiB by which the API may grow in the second half of the stream."""
MAX_FOR_READERS: Final = 200.0
"""MiB for 200 slow readers."""
MAX_DISTURBED: Final = 1.2
"""How much longer the p99 of a PATCH may be while they read."""
MAX_FOR_ARCHIVE: Final = 64.0
"""MiB for an artifact of 1 GiB on its way."""
_PACE: Final = 3.0
"""Seconds between two chunks of a job whose log somebody reads."""
_SAMPLE_EVERY: Final = 0.2


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is sent; the defaults are those of the published figures."""

    jobs: int = 200
    chunks: int = 128
    """Of each job, as fast as they are taken."""
    paced: int = 5
    """Chunks of each job at a runner's own pace, first without and then with a slow reader of each log, in each run."""
    archive: int = 1024
    """MiB."""


@dataclass(slots=True)
class Memory:
    """Resident MiB of a process, sampled all along."""

    samples: list[float] = field(default_factory=list)

    @property
    def second_half(self) -> float:
        """By how much the last quarter lies above the second one."""
        quarter = max(1, len(self.samples) // 4)
        return median(self.samples[-quarter:]) - median(self.samples[quarter : 2 * quarter] or self.samples)


@dataclass(frozen=True, slots=True)
class Round:
    """Chunks at a runner's own pace: what the load told, and the memory that slow readers cost the API."""

    alone: dict[str, float]
    watched: dict[str, float]
    memory: float

    @property
    def disturbed(self) -> float:
        """How much longer the p99 of a PATCH is while they read."""
        return self.watched["p99"] / self.alone["p99"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One database: what the load told of each part, and the memory of the API meanwhile."""

    stream: dict[str, float]
    bare: dict[str, float]
    rounds: list[Round]
    archive: dict[str, float]
    memory: dict[str, Memory]
    api_cpu: float
    """Seconds of the API's processor for the stream."""

    def paced(self, name: str, *, watched: bool) -> float:
        """The median of the rounds."""
        return median((each.watched if watched else each.alone)[name] for each in self.rounds)


def rows(options: Options) -> list[Row]:
    """Measure on both databases; what readers do to runners in several rounds."""
    scale = Scale()
    found = asyncio.run(measure(scale, options.runs))
    return [row for name, measured in found.items() for row in _rows(name, scale, measured)]


def _rows(name: str, scale: Scale, measured: Measured) -> list[Row]:
    patches = scale.jobs * scale.chunks
    sent = patches * CHUNK / MEBIBYTE
    stream, memory, archive = measured.stream, measured.memory, measured.archive
    disturbed = median(each.disturbed for each in measured.rounds)
    readers = max(each.memory for each in measured.rounds)
    table = [
        Row("stream", sent / stream["seconds"], "MiB/s"),
        Row("stream to a server that drops it", sent / measured.bare["seconds"], "MiB/s"),
        Row("stream / dropped", measured.bare["seconds"] / stream["seconds"], "ratio"),
        Row("stream: PATCH, p50", stream["p50"], "ms"),
        Row("stream: PATCH, p99", stream["p99"], "ms"),
        Row("stream: dropped PATCH, p99", measured.bare["p99"], "ms"),
        Row("stream: CPU of API", 1_000 * measured.api_cpu / patches, "ms/PATCH"),
        Row("stream: CPU of load", 1_000 * stream["cpu"] / patches, "ms/PATCH"),
        Row("stream: memory of API at the start", memory["stream"].samples[0], "MiB"),
        Row("stream: memory of API at the end", memory["stream"].samples[-1], "MiB"),
        Row("stream: growth in the second half", memory["stream"].second_half, "MiB", MAX_GROWTH, Side.AT_MOST),
        Row("at a runner's pace: PATCH, p50", measured.paced("p50", watched=False), "ms"),
        Row("at a runner's pace: PATCH, p99", measured.paced("p99", watched=False), "ms"),
        Row("the same with slow readers: PATCH, p50", measured.paced("p50", watched=True), "ms"),
        Row("the same with slow readers: PATCH, p99", measured.paced("p99", watched=True), "ms"),
        Row("with / without slow readers, p99", disturbed, "ratio", MAX_DISTURBED, Side.AT_MOST),
        Row("slow readers: memory", readers, "MiB", MAX_FOR_READERS, Side.AT_MOST),
        Row("artifact up", scale.archive / archive["up"], "MiB/s"),
        Row("artifact down", scale.archive / archive["down"], "MiB/s"),
        Row("artifact: CPU of load", archive["cpu"], "s"),
        Row("artifact: memory", _growth(memory["archive"]), "MiB", MAX_FOR_ARCHIVE, Side.AT_MOST),
    ]
    return [replace(row, name=f"logs, {name}: {row.name}") for row in table]


def _growth(memory: Memory) -> float:
    return max(memory.samples) - memory.samples[0]


async def measure(scale: Scale, runs: int) -> dict[str, Measured]:
    """By the database's name."""
    with postgres_server({}) as server:
        async with fresh_database(server) as address:
            on_postgres = await _measure(scale, runs, address)
    return {"PostgreSQL": on_postgres, "SQLite": await _measure(scale, runs, "")}


async def _measure(scale: Scale, runs: int, database: str) -> Measured:
    sizes = SizeLimits(artifact_bytes=2 * scale.archive * MEBIBYTE)
    async with running(front=False, database_url=database, sizes=sizes) as servers:
        api = servers.processes["api"]
        held = await hold(servers, scale.jobs)
        order = Order(servers.port, held.jobs, 0, 4)
        await _send(order)  # nothing is done for the first time within a measurement
        order = replace(order, start=4 * CHUNK, chunks=scale.chunks)
        cpu = cpu_seconds(api)
        async with _sampled(api) as streaming:
            stream = await _send(order)
        cpu = cpu_seconds(api) - cpu
        async with _dropping() as port:
            bare = await _send(replace(order, port=port))
        rounds = []
        for _ in range(runs):
            order = replace(order, start=_end(order), chunks=scale.paced, pace=_PACE)
            rounds.append(await _round(servers, held, order))
            order = replace(order, start=_end(order))
        async with _sampled(api) as archiving:
            archive = await _archive(servers, held, scale.archive)
        await end(servers, held, _end(order) // CHUNK)
        return Measured(stream, bare, rounds, archive, {"stream": streaming, "archive": archiving}, cpu)


async def _round(servers: Servers, held: HeldJobs, order: Order) -> Round:
    """The order, and the same again behind it while a slow reader follows each log."""
    alone = await _send(order)
    async with _sampled(servers.processes["api"]) as memory, _slow_readers(servers, held):
        watched = await _send(replace(order, start=_end(order)))
    return Round(alone, watched, _growth(memory))


def _end(order: Order) -> int:
    """The length of the logs when it has been carried out."""
    return order.start + order.chunks * CHUNK


async def _send(order: Order) -> dict[str, float]:
    return await ask_module("bench.log_load", asdict(order))


async def _archive(servers: Servers, held: HeldJobs, mebibytes: int) -> dict[str, float]:
    job, token = held.jobs[0]
    order = {
        "port": servers.port,
        "upload": f"/api/v4/jobs/{job}/artifacts",
        "job_token": token,
        "download": f"/api/v4/projects/{held.project}/jobs/{job}/artifacts",
        "token": servers.token,
        "mebibytes": mebibytes,
    }
    return await ask_module("bench.archive_load", order)


@asynccontextmanager
async def _sampled(process: psutil.Process) -> AsyncIterator[Memory]:
    """Look at the memory of a process for as long as the block lasts."""
    memory = Memory()

    async def sample() -> None:
        while True:
            memory.samples.append(process.memory_info().rss / MEBIBYTE)
            await asyncio.sleep(_SAMPLE_EVERY)

    sampling = asyncio.create_task(sample())
    await asyncio.sleep(0)
    try:
        yield memory
    finally:
        sampling.cancel()
        with suppress(asyncio.CancelledError):
            await sampling


@asynccontextmanager
async def _dropping() -> AsyncIterator[int]:
    """The server that drops what it gets; yields its port."""
    (port,) = free_ports(1)
    sink = Child("sink", (sys.executable, "-m", "bench.bare_sink", str(port)), {}, Ready("127.0.0.1", port))
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        async with started([replace(sink, env={"PYTHONPATH": str(Path.cwd())})], Path(folder)):
            yield port


@asynccontextmanager
async def _slow_readers(servers: Servers, held: HeldJobs) -> AsyncIterator[None]:
    """A reader of each log who takes 1 KiB a second. Raises `RuntimeError` when one is cut off."""
    paths = [f"/api/v4/projects/{held.project}/jobs/{job}/trace/live" for job, _ in held.jobs]
    order = json.dumps({"port": servers.port, "token": servers.token, "paths": paths}).encode()
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "bench.log_readers")
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(order)
        process.stdin.write_eof()
        await process.stdout.readline()
        yield
        if process.returncode is not None:
            raise RuntimeError("the slow readers did not read to the end")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
