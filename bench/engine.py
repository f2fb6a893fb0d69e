"""The engine alone: rows are in SQL already, outcomes come into SQL without HTTP; as a share of Temporal's own speed.

Floor and engine take turns on one Temporal server, so that whatever else the machine does meets both. Each shape has
servers of its own: what one leaves behind does not slow down the next.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from temporalio.client import Client

from bench import histories
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, ask_module, peak_mebibytes, running
from bench.shapes import SHAPES, Shape
from pods.stack import PYTHON

WORKER: Final = (*PYTHON, "bench.engine_worker")

_PATIENCE: Final = 600.0
_WARM: Final = "many"
_WARM_PIPELINES: Final = 5
"""Pipelines that run unmeasured, so that no statement is compiled for the first time within a measurement."""


@dataclass(frozen=True, slots=True)
class Round:
    """One floor (None where there is none) and one engine: seconds, and ms of processor time per job by process."""

    floor: float | None
    engine: float
    floor_cpu: dict[str, float]
    engine_cpu: dict[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """The rounds of a shape; for the last of them the sizes of histories, and the peak memory (MiB) by process."""

    rounds: Sequence[Round]
    histories: histories.Sizes
    memory: dict[str, float]


def rows(options: Options) -> list[Row]:
    """Measure the shapes, and give the medians."""
    chosen = [SHAPES[name] for name in options.shapes or SHAPES]
    return [row for shape in chosen for row in _rows(shape, asyncio.run(measure(shape, options)))]


def _rows(shape: Shape, measured: Measured) -> list[Row]:
    jobs, rounds, size = shape.all_jobs, measured.rounds, measured.histories
    name = f"engine, {shape.name}"
    table = [Row(f"{name}: {shape.about}", median(jobs / each.engine for each in rounds), "jobs/s")]
    shares = [each.floor / each.engine for each in rounds if each.floor]
    if shares:
        table.append(Row(f"{name}: floor", median(jobs / each.floor for each in rounds if each.floor), "jobs/s"))
        table.append(Row(f"{name}: engine / floor", median(shares), "ratio", shape.bar))
    for what, parts in (
        ("floor's CPU of", [each.floor_cpu for each in rounds]),
        ("CPU of", [each.engine_cpu for each in rounds]),
    ):
        table += [Row(f"{name}: {what} {part}", median(each[part] for each in parts), "ms/job") for part in parts[0]]
    table += [Row(f"{name}: peak memory of {part}", value, "MiB") for part, value in measured.memory.items()]
    most_payload, most_events = size.largest_payload / 1024, float(size.most_events)
    return [
        *table,
        Row(f"{name}: workflow runs of a pipeline", size.runs, "runs"),
        Row(f"{name}: events of all runs", size.events / len(shape.jobs), "events/job"),
        Row(f"{name}: history of all runs", size.bytes / 1024 / len(shape.jobs), "KiB/job"),
        Row(f"{name}: longest history", most_events, "events", histories.MAX_EVENTS, Side.AT_MOST),
        Row(f"{name}: largest history", size.most_bytes / 2**20, "MiB"),
        Row(f"{name}: largest payload", most_payload, "KiB", histories.MAX_PAYLOAD, Side.AT_MOST),
    ]


async def measure(shape: Shape, options: Options) -> Measured:
    """All rounds of a shape, on one stack."""
    async with running(front=False, worker=WORKER, has_api=False) as servers:
        await warm_up(servers, options)
        rounds: list[Round] = []
        last = 0
        for number in range(shape.runs or options.runs):
            one, last = await _round(servers, shape, options)
            floor = f"{shape.all_jobs / one.floor:.1f} and " if one.floor else ""
            speed = f"{floor}{shape.all_jobs / one.engine:.1f} jobs/s"
            print(f"{shape.name}, round {number + 1}: {speed}", file=sys.stderr)
            rounds.append(one)
        memory = {name: peak_mebibytes(process) for name, process in servers.processes.items()}
        client = await Client.connect(servers.settings.temporal, namespace=servers.settings.namespace)
        return Measured(rounds, await histories.sizes(client, last), memory)


async def warm_up(servers: Servers, options: Options) -> None:
    """Run a few small pipelines."""
    await play(servers, SHAPES[_WARM], options, pipelines=_WARM_PIPELINES)


async def play(servers: Servers, shape: Shape, options: Options, *, pipelines: int = 0) -> dict[str, float]:
    """One run of the engine; the fields of `bench.outcomes.Outcome`."""
    return await ask_module(
        "bench.outcomes",
        {
            "home": str(servers.settings.home),
            "bell": servers.settings.api_port,
            "shape": shape.name,
            "pipelines": pipelines or shape.pipelines,
            "batch": options.runners,
            "patience": _PATIENCE,
        },
    )


async def _round(servers: Servers, shape: Shape, options: Options) -> tuple[Round, int]:
    """One floor and one engine, and the id of the first pipeline."""
    per_job = 1_000 / shape.all_jobs
    before = servers.cpu()
    floor = await _floor(servers, shape, options) if shape.has_floor else None
    between = servers.cpu()
    engine = await play(servers, shape, options)
    after = servers.cpu()
    engine_cpu = {name: (after[name] - between[name]) * per_job for name in after}
    floor_cpu = {}
    if floor is not None:
        spent = between["temporal"] - before["temporal"]
        floor_cpu = {"temporal": spent * per_job, "worker": floor["cpu"] * per_job}
    one = Round(
        floor=None if floor is None else floor["seconds"],
        engine=engine["seconds"],
        floor_cpu=floor_cpu,
        engine_cpu=engine_cpu | {"outcomes": engine["cpu"] * per_job},
    )
    return one, int(engine["first"])


async def _floor(servers: Servers, shape: Shape, options: Options) -> dict[str, float]:
    return await ask_module(
        "bench.floor",
        {
            "address": servers.settings.temporal,
            "namespace": servers.settings.namespace,
            "workflows": shape.pipelines,
            "callers": options.runners,
            **shape.floor(),
        },
    )
