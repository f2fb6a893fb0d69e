"""`python -m tests.permissions.fuzz --seed N --minutes M`: exit code 1 where something differs from the model."""

import argparse
import asyncio
import logging
import secrets
import sys
import tempfile
from pathlib import Path

import structlog

from tests.permissions.fuzz.beginning import opened
from tests.permissions.fuzz.run import fuzz


async def _main(seed: int, minutes: float, most: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder)) as (place, world):
            report = await fuzz(place, world, seed, minutes, most)
    for difference in report.differences:
        sys.stdout.write(f"\n{difference}\n")
    sys.stdout.write(f"\nseed {seed}: {report}\n")
    return 1 if report.differences else 0


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.permissions.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="the same seed is the same run")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--most", type=int, default=1, help="how many disagreements to look for")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    sys.stdout.write(f"seed {given.seed}\n")
    return asyncio.run(_main(given.seed, given.minutes, given.most))


if __name__ == "__main__":
    sys.exit(main())
