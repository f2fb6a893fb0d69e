"""Where the time of our process goes: `python -m bench.profiling FOLDER [whole|SHAPE]`.

Profiles one whole way of 20 pipelines, or the engine alone with one of its shapes.

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

from bench import engine, whole_way
from bench.options import Options
from bench.servers import running
from bench.shapes import SHAPES
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

WHOLE: Final = "whole"
_PIPELINES: Final = 20

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


async def profile(folder: Path, what: str) -> None:
    """Run the whole way, or the engine with a shape, under the profiler. The two files are in `folder` at the end."""
    options, is_whole = Options(), what == WHOLE
    module = "worker" if is_whole else "bench.engine_worker"
    command = (*PYTHON, "bench.profiled_worker", str(folder), module)
    async with running(front=False, worker=command, has_api=is_whole) as servers:
        if is_whole:
            target = await whole_way.prepare(servers, options)
            work = whole_way.run(servers, target, options, pipelines=_PIPELINES)
        else:
            await engine.warm_up(servers, options)
            work = engine.play(servers, SHAPES[what], options)
        servers.processes["api"].send_signal(signal.SIGUSR1)
        await work
        servers.processes["api"].send_signal(signal.SIGUSR2)
        async with asyncio.timeout(30):
            while not (folder / "threads.json").exists():  # noqa: ASYNC110  # another process writes it
                await asyncio.sleep(0.1)


def main() -> None:
    """Profile and print."""
    folder, what = Path(sys.argv[1]).resolve(), (sys.argv[2:] or [WHOLE])[0]
    if what not in {WHOLE, *SHAPES}:
        sys.exit(f"{what} is none of {', '.join((WHOLE, *SHAPES))}.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "threads.json").unlink(missing_ok=True)
    asyncio.run(profile(folder, what))
    by_layer = shares(pstats.Stats(str(folder / "main.prof")).stats)  # type: ignore[attr-defined]
    total = sum(by_layer.values())
    for layer, seconds in by_layer.most_common():
        print(f"{layer:<14} {seconds:8.2f} s {seconds / total:6.1%}")
    threads = json.loads((folder / "threads.json").read_text())
    for name, seconds in sorted(threads.items(), key=lambda item: -item[1])[:12]:
        print(f"thread {name:<40} {seconds:8.2f} s")


if __name__ == "__main__":
    main()
