"""The rows that the simulation tells: `python -m bench pods_simulation`."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from math import isnan
from statistics import median
from typing import Final

from bench.options import Options
from bench.pods_simulation.claims import Outcome, simulate
from bench.pods_simulation.inputs import ASSUMED, COSTS
from bench.pods_simulation.load import Case, load
from bench.pods_simulation.pools import Pooling, pooled
from bench.pods_simulation.ways import WAYS
from bench.rows import Row

PODS: Final = (10, 100, 1_000)
SPREADS: Final = (0.0, 0.5, 1.0)
ROOMY: Final = 0.6
"""Utilisation of runners where more of them stand ready."""
ROOMY_SPREAD: Final = 0.5
SEED: Final = 20_261_126
SEEDS: Final = (SEED, SEED + 1, SEED + 2)


def rows(options: Options) -> list[Row]:
    """Simulate everything once: with one seed it comes to the same each time, on whatever machine."""
    del options  # neither runs nor sizes are to be chosen
    found = []
    for row in chain(_claims(), _narrow(), _connections(), _pools()):
        print(f"{row.name}: {row.measured:,.4g} {row.unit}", file=sys.stderr)
        found.append(row)
    return found


def _claims() -> Iterator[Row]:
    for pods in PODS:
        yield from _big(pods)
        for case in Case:
            if case is Case.BIG:
                continue
            made = load(ASSUMED, pods, case, SEED)
            for way in WAYS:
                if case is Case.CENTRE_LOST and way == "pod local":
                    continue  # it has none
                name = f"{pods:,} pods, {way}"
                yield from _told(name, case, simulate(way, made, case, SEED))


def _big(pods: int) -> Iterator[Row]:
    """Medians of several seeds, since a window has some nine bursts, and how many meet by chance decides much."""
    loads = [(seed, load(ASSUMED, pods, Case.BIG, seed)) for seed in SEEDS]
    for way in WAYS:
        outcomes = [simulate(way, made, Case.BIG, seed) for seed, made in loads]
        title = f"{pods:,} pods, {way}, {Case.BIG}"
        yield Row(f"{title}: p99 of its pod", median(one.home_p99 for one in outcomes) * 1e3, "ms")
        yield Row(f"{title}: p99 of the others", median(one.others_p99 for one in outcomes) * 1e3, "ms")
        yield Row(f"{title}: p99 of the others, worst seed", max(one.others_p99 for one in outcomes) * 1e3, "ms")


def _narrow() -> Iterator[Row]:
    assumed = replace(ASSUMED, choice=ASSUMED.narrow)
    for case in (Case.USUAL, Case.BIG):
        outcome = simulate("two-phase", load(assumed, PODS[0], case, SEED), case, SEED, assumed=assumed)
        yield from _told(f"{PODS[0]} pods, two-phase among the {ASSUMED.narrow} oldest", case, outcome)


def _connections() -> Iterator[Row]:
    """By arithmetic alone: each runner, busy or not, has a connection to the one daemon."""
    runners = ASSUMED.rate * ASSUMED.job / ASSUMED.utilisation
    yield Row("push: memory of all connections", runners * COSTS.connection, "MiB")
    yield Row("push: until all are connected again", runners * COSTS.request / ASSUMED.central_cores, "s")


def _told(name: str, case: Case, outcome: Outcome) -> Iterator[Row]:
    title = f"{name}, {case}"
    if case is Case.USUAL:
        yield Row(f"{title}: pending to its runner, p50", outcome.p50 * 1e3, "ms")
        yield Row(f"{title}: p99", outcome.p99 * 1e3, "ms")
        yield Row(f"{title}: utilisation of the busiest part", outcome.busiest * 100, "%")
        yield Row(f"{title}: of all parts", outcome.mean * 100, "%")
        if not isnan(outcome.centre):
            yield Row(f"{title}: of the centre", outcome.centre * 100, "%")
    if case in {Case.BIG, Case.STORM}:
        yield Row(f"{title}: p99 of its pod", outcome.home_p99 * 1e3, "ms")
        yield Row(f"{title}: p99 of the others", outcome.others_p99 * 1e3, "ms")
    if case in {Case.POD_LOST, Case.CENTRE_LOST}:
        yield Row(f"{title}: jobs that are not handed out", outcome.barred * 100, "%")
    if case is Case.POD_LOST:
        yield Row(f"{title}: p99 of the others", outcome.p99 * 1e3, "ms")
    if "two-phase" in name:
        yield Row(f"{title}: claims in vain for one that is not", outcome.in_vain, "")


def _pools() -> Iterator[Row]:
    for spread in SPREADS:
        for pools in (1, *PODS):
            whose = f"runners of {pools:,} pods apart" if pools > 1 else "runners for all pods together"
            yield from _pool(f"{whose}, loads as planned +- {spread:.0%}", pooled(pools, spread, SEED), pools)
    for pools in PODS[1:]:
        found = pooled(pools, ROOMY_SPREAD, SEED, replace(ASSUMED, utilisation=ROOMY))
        yield from _pool(f"the same of {pools:,} pods +- {ROOMY_SPREAD:.0%}, {ROOMY:.0%} planned as busy", found, pools)


def _pool(name: str, found: Pooling, pools: int) -> Iterator[Row]:
    yield Row(f"{name}: runners", found.runners, "")
    yield Row(f"{name}: idle while a job waits elsewhere", found.mismatch * 100, "%")
    yield Row(f"{name}: jobs that wait a second or more", found.waited * 100, "%")
    yield Row(f"{name}: wait for a runner, p99", found.p99, "s")
    if pools > 1:
        yield Row(f"{name}: runners idle with the largest pod lost", found.largest * 100, "%")
