"""Many random worlds, and what became of them."""

import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.fuzz.valid.generate import world_of
from tests.fuzz.valid.mutants import mutant_faults
from tests.fuzz.valid.trial import Verdict, trial
from tests.fuzz.valid.world import World


@dataclass
class Report:
    """Counts of outcomes, and every fault with the seed that shows it."""

    outcomes: Counter[str] = field(default_factory=Counter)
    mutants: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    faults: list[str] = field(default_factory=list)


def run(seeds: Iterable[int], *, mutants: int = 0) -> Report:
    """Judge the worlds of the seeds, and so many mutants of each."""
    report = Report()
    for seed in seeds:
        world = world_of(str(seed))
        verdict = _tried(world)
        report.outcomes[verdict.outcome] += 1
        report.jobs += verdict.jobs
        report.faults += (f"seed {seed}: {fault}" for fault in verdict.faults)
        for number in range(mutants):
            outcome, faults = mutant_faults(world, number)
            report.mutants[outcome] += 1
            report.faults += (f"seed {seed}, mutant {number}: {fault}" for fault in faults)
    return report


def _tried(world: World) -> Verdict:
    try:
        return trial(world)
    except Exception:  # noqa: BLE001  # whatever it is, it is what is looked for
        return Verdict("raised", (traceback.format_exc(),))
