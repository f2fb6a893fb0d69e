"""Where the time of our process goes: `python -m bench.profiling FOLDER [PIPELINES]` profiles one whole way.

Prints the share of each layer in the main thread's own time, then the processor time by thread. `FOLDER/main.prof`
holds the details for `python -m pstats`.
"""

import asyncio
import json
import pstats
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bench import whole_way
from bench.options import Options
from bench.servers import running
from pods.stack import PYTHON

LAYERS: Final[tuple[tuple[str, str], ...]] = (
    ("sqlalchemy", "SQL"),
    ("sqlite3", "SQL"),
    ("/models/", "SQL"),
    ("temporalio", "Temporal SDK"),
    ("/workflows/", "Temporal SDK"),
    ("google/protobuf", "Temporal SDK"),
    ("jwt", "tokens"),
    ("cryptography", "tokens"),
    ("/auth/", "tokens"),
    ("subprocess", "git"),
    ("/git/", "git"),
    ("starlette", "HTTP"),
    ("fastapi", "HTTP"),
    ("uvicorn", "HTTP"),
    ("anyio", "HTTP"),
    ("/json/", "JSON"),
    ("orjson", "JSON"),
    ("pydantic", "pydantic"),
)
"""A part of a function's place or name, and the layer it belongs to; the first that fits counts."""

Function = tuple[str, int, str]
"""File (`~` for compiled code), line and name, as `pstats` has them."""


def layer_of(function: Function, caller: Function | None = None) -> str:
    """The layer of a function; compiled code that names none belongs to its caller's."""
    place = f"{function[0]} {function[2]}"
    found = next((layer for part, layer in LAYERS if part in place), "")
    if found:
        return found
    return layer_of(caller) if caller is not None and function[0] == "~" else "other"


def shares(stats: Mapping[Function, Any]) -> Counter[str]:
    """Own seconds by layer, from the `stats` of a `pstats.Stats`."""
    seconds: Counter[str] = Counter()
    for function, (_, _, own, _, callers) in stats.items():
        if not callers:
            seconds[layer_of(function)] += own
        for caller, (_, _, own_for_caller, _) in callers.items():
            seconds[layer_of(function, caller)] += own_for_caller
    return seconds


async def profile(folder: Path, pipelines: int) -> dict[str, float]:
    """Run one whole way under the profiler; the outcome of the load. The two files are in `folder` at the end."""
    options = Options()
    command = (*PYTHON, "bench.profiled_worker", str(folder), "worker")
    async with running(front=False, worker=command) as servers:
        target = await whole_way.prepare(servers, options)
        servers.processes["api"].send_signal(signal.SIGUSR1)
        outcome = await whole_way.run(servers, target, options, pipelines=pipelines)
        servers.processes["api"].send_signal(signal.SIGUSR2)
        async with asyncio.timeout(30):
            while not (folder / "threads.json").exists():  # noqa: ASYNC110  # another process writes it
                await asyncio.sleep(0.1)
    return outcome


def main() -> None:
    """Profile and print."""
    folder, pipelines = Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["20"])[0])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "threads.json").unlink(missing_ok=True)
    asyncio.run(profile(folder, pipelines))
    by_layer = shares(pstats.Stats(str(folder / "main.prof")).stats)  # type: ignore[attr-defined]
    total = sum(by_layer.values())
    for layer, seconds in by_layer.most_common():
        print(f"{layer:<14} {seconds:8.2f} s {seconds / total:6.1%}")
    threads = json.loads((folder / "threads.json").read_text())
    for name, seconds in sorted(threads.items(), key=lambda item: -item[1])[:12]:
        print(f"thread {name:<40} {seconds:8.2f} s")


if __name__ == "__main__":
    main()
