"""The front under attack: what the calls of good runners take meanwhile, against what they took just before.

The tests have the attack; here it runs as a program of its own.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from bench.options import Options
from bench.rows import Row, Side

MAX_RATIO: Final = 2.0
"""Times the p99 without an attack."""
_ATTACK: Final = (sys.executable, "-m", "tests.security.attacked_front")


def rows(options: Options) -> list[Row]:
    """Measure once: each figure is the median of three windows."""
    del options
    measured = subprocess.run(_ATTACK, stdout=subprocess.PIPE, text=True, check=True)
    return [row for line in measured.stdout.splitlines() for row in rows_of(line)]


def rows_of(line: str) -> Iterator[Row]:
    """What one attack on one front came to; `line`: JSON with `front`, `kind`, and p99 `idle` and `attacked` (s)."""
    found = json.loads(line)
    name, idle, attacked = f"front, {found['front']}, {found['kind']}", found["idle"], found["attacked"]
    yield Row(f"{name}: p99 idle", idle * 1e3, "ms")
    yield Row(f"{name}: p99 attacked", attacked * 1e3, "ms")
    yield Row(f"{name}: attacked / idle", attacked / idle, "", MAX_RATIO, Side.AT_MOST)
