"""The whole way by HTTP: jobs per second, as a share of what Temporal alone does beside it.

Floor and whole way take turns on one Temporal server, so that whatever else the machine does meets both.
"""

import asyncio
import sys
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench import whole_way
from bench.options import Options
from bench.rows import Row
from bench.servers import Servers, ask_module, running

SHARE: Final = 0.3
"""The least share of the floor's speed that the whole way must keep; the aim is a half."""


@dataclass(frozen=True, slots=True)
class Round:
    """One floor and one whole way: seconds, and milliseconds of processor time per job by process."""

    floor: float
    whole: float
    floor_cpu: dict[str, float]
    whole_cpu: dict[str, float]
    calls: dict[str, float]


def rows(options: Options) -> list[Row]:
    """Measure, and give the medians."""
    rounds = asyncio.run(measure(options))
    jobs = options.all_jobs
    way = "by the front" if options.front else "whole way"
    table = [
        Row("floor", median(jobs / each.floor for each in rounds), "jobs/s"),
        Row(way, median(jobs / each.whole for each in rounds), "jobs/s"),
        Row(f"{way} / floor", median(each.floor / each.whole for each in rounds), "ratio", SHARE),
    ]
    for what, unit, parts in (
        ("floor: CPU of ", "ms/job", [each.floor_cpu for each in rounds]),
        (f"{way}: CPU of ", "ms/job", [each.whole_cpu for each in rounds]),
        (f"{way}: median ", "ms", [each.calls for each in rounds]),
    ):
        table += [Row(what + name, median(part[name] for part in parts), unit) for name in parts[0]]
    return table


async def measure(options: Options) -> list[Round]:
    """All rounds, on one stack."""
    async with running(front=options.front) as servers:
        target = await whole_way.prepare(servers, options)
        rounds = []
        for number in range(options.runs):
            one = await _round(servers, target, options)
            jobs = options.all_jobs
            print(f"round {number + 1}: {jobs / one.floor:.1f} and {jobs / one.whole:.1f} jobs/s", file=sys.stderr)
            rounds.append(one)
    return rounds


async def _round(servers: Servers, target: whole_way.Target, options: Options) -> Round:
    before = servers.cpu()
    floor = await ask_module(
        "bench.floor",
        {
            "address": servers.settings.temporal,
            "namespace": servers.settings.namespace,
            "workflows": options.pipelines,
            "widths": [options.jobs] * options.stages,
            "callers": options.runners,
        },
    )
    between = servers.cpu()
    whole = await whole_way.run(servers, target, options)
    after = servers.cpu()
    per_job = 1_000 / options.all_jobs
    whole_cpu = {name: (after[name] - between[name]) * per_job for name in after}
    return Round(
        floor=floor["seconds"],
        whole=whole["seconds"],
        floor_cpu={
            "temporal": (between["temporal"] - before["temporal"]) * per_job,
            "worker": floor["cpu"] * per_job,
        },
        whole_cpu=whole_cpu | {"load": whole["cpu"] * per_job},
        calls={name.removesuffix("_ms"): value for name, value in whole.items() if name.endswith("_ms")},
    )
