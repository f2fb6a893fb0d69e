"""Compiling a configuration: as a multiple of what libyaml needs to read the same text, and beside gitlab-ci-local.

Texts are `bench.gen_ci_yaml`'s mixed ones (rules, matrices, needs, extends), compiled whole, with positions and
reasons.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

import yaml

from bench import gitlab_ci_local
from bench.gen_ci_yaml import mixed
from bench.options import Options
from bench.rows import Row, Side
from domain.config.compile import compile_config
from domain.config.context import Context

SIZES: Final = (10, 100, 1_000, 5_000)
"""Jobs of the configurations."""

MAX_RATIO: Final = 10.0
"""Compiling may take so many times as long as reading; 5 is aimed at."""

MAX_GROWTH: Final = 6.0
"""5,000 jobs may take so many times as long as 1,000."""

LEAST_GAIN: Final = 10.0
"""So many times faster than gitlab-ci-local at `COMPARED` jobs."""

COMPARED: Final = 1_000

PUSH: Final = Context(predefined={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"})

_PEAK: Final = """
import sys
from bench.compile import PUSH, peak_kibibytes
from bench.gen_ci_yaml import mixed
from domain.config.compile import compile_config
text = mixed(int(sys.argv[1]))
before = peak_kibibytes()
compile_config(text, PUSH)
print(peak_kibibytes() - before)
"""


def rows(options: Options) -> list[Row]:
    """Medians for each size."""
    table: list[Row] = []
    compiled: dict[int, float] = {}
    for size in SIZES:
        text = mixed(size)
        pairs = [(_milliseconds(_read, text), _milliseconds(_compile, text)) for _ in range(max(3, options.runs))]
        compiled[size] = median(ours for _, ours in pairs)
        table += [
            Row(f"libyaml reads {size:,} jobs", median(theirs for theirs, _ in pairs), "ms"),
            Row(f"compile {size:,} jobs", compiled[size], "ms"),
            Row(f"compile {size:,} jobs / libyaml", median(b / a for a, b in pairs), "ratio", MAX_RATIO, Side.AT_MOST),
        ]
    growth = compiled[SIZES[-1]] / compiled[COMPARED]
    table.append(Row("compile 5,000 jobs / 1,000 jobs", growth, "ratio", MAX_GROWTH, Side.AT_MOST))
    table.append(Row("compile 5,000 jobs: memory on top", _peak_mebibytes(SIZES[-1]), "MiB"))
    return table + _beside_gitlab_ci_local(compiled[COMPARED])


def _beside_gitlab_ci_local(ours: float) -> list[Row]:
    """Nothing where npm is not there."""
    theirs = gitlab_ci_local.milliseconds(mixed(COMPARED))
    if theirs is None:
        return []
    return [
        Row(f"gitlab-ci-local --list, {COMPARED:,} jobs", theirs, "ms"),
        Row(f"gitlab-ci-local / compile, {COMPARED:,} jobs", theirs / ours, "ratio", LEAST_GAIN),
    ]


def peak_kibibytes() -> int:
    """The most memory that this process had. (`getrusage` would give that of the process that started it.)"""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def _read(text: str) -> None:
    """The collector is off, as it is while we compile: it would make the reading look slower than it is."""
    gc.disable()
    try:
        yaml.load(text, Loader=yaml.CSafeLoader)
    finally:
        gc.enable()


def _compile(text: str) -> None:
    compile_config(text, PUSH)


def _milliseconds(work: Callable[[str], None], text: str) -> float:
    gc.collect()
    start = time.perf_counter()
    work(text)
    return 1_000 * (time.perf_counter() - start)


def _peak_mebibytes(size: int) -> float:
    """What the process grows by at most, in a process of its own."""
    done = subprocess.run((sys.executable, "-c", _PEAK, str(size)), capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024
