"""Starting a server: the processor time until it is ready, as a multiple of importing the libraries that it stands on.

Every process that is killed or replaced starts anew, and whoever waits for it waits for that time.
"""

import asyncio
import subprocess
import sys
from statistics import median
from typing import Final

from bench.options import Options
from bench.rows import Row, Side
from bench.servers import running

MAX_RATIO: Final = 5.0
"""Starting may take so many times as long as importing."""

_LIBRARIES: Final = """
import asyncpg, fastapi, httpx, jinja2, prometheus_client, sqlmodel, structlog, temporalio.client, temporalio.worker
import uvicorn, uvloop, yaml
import time
print(time.process_time())
"""


def rows(options: Options) -> list[Row]:
    """Medians of interleaved runs; each server starts in an empty folder, its database included."""
    pairs = [(_imported(), asyncio.run(_started())) for _ in range(options.runs)]
    return [
        Row("libraries imported: CPU", 1_000 * median(theirs for theirs, _ in pairs), "ms"),
        Row("server ready: CPU", 1_000 * median(ours for _, ours in pairs), "ms"),
        Row("server ready / libraries imported", median(b / a for a, b in pairs), "ratio", MAX_RATIO, Side.AT_MOST),
    ]


def _imported() -> float:
    done = subprocess.run((sys.executable, "-c", _LIBRARIES), capture_output=True, text=True, check=True)
    return float(done.stdout)


async def _started() -> float:
    """Seconds of the process that serves the API and runs workflows."""
    async with running(front=False) as servers:
        return servers.cpu()["api"]
