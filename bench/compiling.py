"""Compiling a configuration, as a multiple of what libyaml needs to read the same text."""

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Final

import yaml

from bench.gen_ci_yaml import trivial
from bench.options import Options
from bench.rows import Row, Side
from domain.config.compile import compile_config

SIZES: Final = (1_000, 5_000)
"""Jobs of the configurations."""

MOST: Final = 5.0
"""Compiling may take so many times as long as reading."""


def rows(options: Options) -> list[Row]:
    """Medians for each size."""
    table = []
    for size in SIZES:
        text = trivial(size)
        pairs = [(_milliseconds(_read, text), _milliseconds(_compile, text)) for _ in range(max(3, options.runs))]
        table += [
            Row(f"compile {size:,} jobs", median(compiled for _, compiled in pairs), "ms"),
            Row(f"compile {size:,} jobs / libyaml", median(b / a for a, b in pairs), "ratio", MOST, Side.AT_MOST),
        ]
    return table


def _read(text: str) -> None:
    """The collector is off, as it is while we compile: it would make the reading look slower than it is."""
    gc.disable()
    try:
        yaml.load(text, Loader=yaml.CSafeLoader)
    finally:
        gc.enable()


def _compile(text: str) -> None:
    compile_config(text)


def _milliseconds(work: Callable[[str], None], text: str) -> float:
    gc.collect()
    start = time.perf_counter()
    work(text)
    return 1_000 * (time.perf_counter() - start)
