"""The latency: how long it takes from a verdict until the next job of a chain can be claimed, under a steady load.

20 pipelines that are chains of jobs of one second: some 20 verdicts a second, by HTTP, on the embedded stack.
"""

import asyncio
from typing import Final

from bench import whole_way
from bench.gen_ci_yaml import chain
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, ask_module, running

CHAINS: Final = 20
JOBS: Final = 20
"""Jobs of one chain; each takes a second."""
MAX_MEDIAN: Final = 60.0
"""Milliseconds."""
MOST_P99: Final = 300.0
"""Milliseconds."""

_SPARE_RUNNERS: Final = 4
"""Runners that hold a request while all chains have a job that runs."""


def rows(options: Options) -> list[Row]:
    """Measure once: one run is 400 verdicts."""
    del options
    took = asyncio.run(measure())
    return [
        Row("latency: load", took["verdicts"], "verdicts/s"),
        Row("latency: verdict to next row pending, p50", took["pending_p50"], "ms", MAX_MEDIAN, Side.AT_MOST),
        Row("latency: verdict to next row pending, p99", took["pending_p99"], "ms", MOST_P99, Side.AT_MOST),
        Row("latency: verdict to next job with its runner, p50", took["claimed_p50"], "ms"),
        Row("latency: verdict to next job with its runner, p99", took["claimed_p99"], "ms"),
        Row("latency: verdict itself, p50", took["put_p50"], "ms"),
    ]


async def measure() -> dict[str, float]:
    """One run after a short one to warm up; the fields of `bench.chains.Outcome`."""
    async with running(front=False) as servers:
        target = await whole_way.set_up(servers, chain(JOBS), CHAINS + _SPARE_RUNNERS)
        await _play(servers, target, chains=2, job_seconds=0)
        return await _play(servers, target, chains=CHAINS, job_seconds=1)


async def _play(servers: Servers, target: whole_way.Target, *, chains: int, job_seconds: float) -> dict[str, float]:
    return await ask_module(
        "bench.chains",
        {
            "port": servers.port,
            "home": str(servers.settings.home),
            "token": servers.token,
            "project": target.project,
            "runners": target.runners,
            "chains": chains,
            "jobs": JOBS,
            "job_seconds": job_seconds,
        },
    )
