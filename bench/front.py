"""The front under attack: what the calls of good runners take meanwhile, against what they took just before."""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from bench.options import Options
from bench.rows import Row, Side
from tests.security.attacked_front import FRONTS, WARM, api_with_a_job, attack, good_runners

MOST: Final = 2.0
"""Times the p99 without an attack."""


def rows(options: Options) -> list[Row]:
    """Measure once: each figure is the median of three windows."""
    del options
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        async with api_with_a_job(Path(folder)) as api:
            good = await good_runners(api)
            for front, running in FRONTS.items():
                for kind in WARM:
                    place = Path(folder) / f"{front}-{kind}"
                    place.mkdir()
                    async with running(place, api) as port:
                        took = await attack(port, good, kind, place)
                    name = f"front, {front}, {kind}"
                    found += [
                        Row(f"{name}: p99 idle", took.idle * 1e3, "ms"),
                        Row(f"{name}: p99 attacked", took.attacked * 1e3, "ms"),
                        Row(f"{name}: attacked / idle", took.attacked / took.idle, "", MOST, Side.AT_MOST),
                    ]
    return found
