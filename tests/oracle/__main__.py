"""`python -m tests.oracle domain|workflows --count N --seed S`: random pipelines, the product beside the simulation.

Prints each disagreement as a scenario, shrunk, and a line with the figures; the exit status says whether there was one.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence

from tests.oracle.runs import ENGINES, Report, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 1 if the two disagree anywhere."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("engine", choices=sorted(ENGINES))
    parser.add_argument("--count", type=int, default=300, help="so many random pipelines")
    parser.add_argument("--seed", default="0", help="the first seed: a number, the others follow it")
    parser.add_argument("--postgresql", action="store_true", help="workflows: on PostgreSQL instead of SQLite")
    parser.add_argument("--no-shrink", action="store_true", help="print disagreements as they were found")
    given = parser.parse_args(arguments)
    seeds = [str(int(given.seed) + number) for number in range(given.count)]
    began = time.monotonic()
    report = asyncio.run(run(given.engine, seeds, shrink=not given.no_shrink, postgresql=given.postgresql))
    _tell(report, time.monotonic() - began)
    return 1 if report.faults else 0


def _tell(report: Report, seconds: float) -> None:
    for fault in report.faults:
        print(fault)
    by_kind: dict[str, list[str]] = {}
    for fault in report.faults:
        by_kind.setdefault(fault.kind(), []).append(fault.case.seed)
    for kind, seeds in sorted(by_kind.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds):5}  {kind}  (seeds {', '.join(seeds[:10])})")
    print(f"{report.cases} pipelines, {report.moments} moments, {len(report.faults)} disagreements, {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
