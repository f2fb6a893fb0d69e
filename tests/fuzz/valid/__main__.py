"""`python -m tests.fuzz.valid COUNT --seed S`: random right configurations, the compiler beside a second judge.

Prints each disagreement with its seed, and the figures; the exit status says whether there was one. `--show SEED`
prints the files and the event of one. `--mutants N` breaks each of them N times too: then only typed errors with
places, or plans that keep the rules of all plans, are right.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from tests.fuzz.valid.generate import world_of
from tests.fuzz.valid.runs import Report, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 1 if there is a disagreement."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.valid", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1_000, help="so many configurations")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the others follow it")
    parser.add_argument("--mutants", type=int, default=0, help="so many broken forms of each")
    parser.add_argument("--show", metavar="SEED", help="print one of them and end")
    given = parser.parse_args(arguments)
    if given.show is not None:
        _show(given.show)
        return 0
    began = time.process_time()
    report = run(range(given.seed, given.seed + given.count), mutants=given.mutants)
    _tell(report, time.process_time() - began)
    return 1 if report.faults else 0


def _show(seed: str) -> None:
    world = world_of(seed)
    for path, text in world.texts().items():
        if text:
            print(f"# {path}\n{text}")
    print(world.happening)


def _tell(report: Report, seconds: float) -> None:
    for fault in report.faults:
        print(fault)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.outcomes.items()))
    mutants = ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.mutants.items()))
    print(f"{sum(report.outcomes.values())} configurations: {outcomes}; {report.jobs} jobs in plans")
    if mutants:
        print(f"{sum(report.mutants.values())} mutants: {mutants}")
    print(f"{len(report.faults)} disagreements, {seconds:.1f} s of CPU")


if __name__ == "__main__":
    sys.exit(main())
