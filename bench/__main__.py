"""`python -m bench`: run the benchmarks, print a row a figure, succeed only if every bar holds."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Final

import orjson
import typer
from rich.console import Console

from bench import compile as compiling
from bench import engine, first_paint, latency, log_viewer, logs, notes, pages, push, start, steps, whole, windows
from bench import front as attacked_front
from bench.growth import figures as growth
from bench.machine import commit, this_machine
from bench.options import LARGE, RUNS, Options
from bench.outage import figures as outage
from bench.pods_simulation import figures as pods_simulation
from bench.queue import figures as queue
from bench.router import figures as router
from bench.rows import Row, all_hold, print_table
from bench.shapes import SHAPES

BENCHMARKS: Final[Mapping[str, Callable[[Options], list[Row]]]] = {
    "compile": compiling.rows,
    "engine": engine.rows,
    "first_paint": first_paint.rows,
    "front": attacked_front.rows,
    "growth": growth.rows,
    "latency": latency.rows,
    "log_viewer": log_viewer.rows,
    "logs": logs.rows,
    "notes": notes.rows,
    "outage": outage.rows,
    "pages": pages.rows,
    "pods_simulation": pods_simulation.rows,
    "push": push.rows,
    "queue": queue.rows,
    "router": router.rows,
    "start": start.rows,
    "steps": steps.rows,
    "whole": whole.rows,
    "windows": windows.rows,
}
"""Name to measurement; a further one is a module with `rows()`."""

ROOT: Final = Path(__file__).resolve().parent.parent


def bench(
    names: Annotated[list[str] | None, typer.Argument(help=f"Some of {', '.join(BENCHMARKS)}; all by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print rows, machine and commit as JSON only.")] = False,
    runs: Annotated[int, typer.Option(min=1, help="Interleaved runs of which the median counts.")] = RUNS,
    shape: Annotated[
        list[str] | None, typer.Option(help=f"For the engine: some of {', '.join(SHAPES)}; all by default.")
    ] = None,
    large: Annotated[int, typer.Option(min=10_000, help="For growth: jobs of the large home.")] = LARGE,
    front: Annotated[bool, typer.Option("--front", help="Send the runners through the front.")] = False,
) -> None:
    """Measure."""
    unknown = sorted(set(names or ()) - set(BENCHMARKS))
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)} is not a benchmark; there are {', '.join(BENCHMARKS)}.")
    if strange := sorted(set(shape or ()) - set(SHAPES)):
        raise typer.BadParameter(f"{', '.join(strange)} is not a shape; there are {', '.join(SHAPES)}.")
    machine, options = this_machine(), Options(runs=runs, front=front, shapes=tuple(shape or ()), large=large)
    rows = [row for name, measure in BENCHMARKS.items() if not names or name in names for row in measure(options)]
    if as_json:
        document = {
            "rows": [row.as_json() for row in rows],
            "machine": {"cores": machine.cores, "processor": machine.processor, "system": machine.system},
            "commit": commit(ROOT),
        }
        print(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())
    else:
        print_table(rows, f"{machine}, commit {commit(ROOT)}", Console())
    raise typer.Exit(0 if all_hold(rows) else 1)


if __name__ == "__main__":
    application = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    application.command()(bench)
    application()
