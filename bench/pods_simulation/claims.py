"""How long pending jobs wait for being handed out where runners stand ready: one way, one case, one minute."""

from collections.abc import Callable
from dataclasses import dataclass
from math import nan

from bench.pods_simulation.clock import Act, Station
from bench.pods_simulation.inputs import ASSUMED, COSTS, Assumptions, Costs
from bench.pods_simulation.load import Case, Job, Load
from bench.pods_simulation.site import Site
from bench.pods_simulation.ways import WAYS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a minute came to. Times are in seconds; a job that waits at its end counts with what it has waited."""

    jobs: int
    handed: int
    waiting: int
    """Jobs that are not handed out at the end, for whatever reason."""
    p50: float
    p99: float
    home_p99: float
    """Of the pod where the big organisation lives, that organisation included."""
    others_p99: float
    """Of all pods but that one, and but a lost one."""
    barred: float
    """Share of all jobs that are not handed out within the window, less those of its last second."""
    busiest: float
    """Utilisation of the busiest station; it and the next are of the whole window."""
    mean: float
    centre: float
    """Utilisation of the busiest station in the midst; not a number where there is none."""
    in_vain: float
    """Claims in vain for each that is not."""


def simulate(
    way: str, load: Load, case: Case, seed: int, costs: Costs = COSTS, assumed: Assumptions = ASSUMED
) -> Outcome:
    """The same arguments give the same outcome."""
    site = Site(load, seed, costs, assumed)
    hand = WAYS[way](site)
    site.rest_of_jobs()
    lost = _lose(site, case)
    waits: list[float | None] = [None] * len(load.jobs)
    for number, job in enumerate(load.jobs):
        site.clock.at(job.at, _begin(site, hand, job, number, waits))
    site.clock.run(assumed.window)
    return _outcome(site, waits, lost)


def _begin(site: Site, hand: Callable[[Job, Act], None], job: Job, number: int, waits: list[float | None]) -> Act:
    def done() -> None:
        if waits[number] is not None:
            raise AssertionError(f"Job {number} was handed out twice.")
        waits[number] = site.clock.now - job.at

    return lambda: hand(job, done)


def _lose(site: Site, case: Case) -> int | None:
    """Loses what the case says, from the beginning on; the number of the lost pod."""
    shares = site.load.shares
    worst = max(range(len(shares)), key=shares.__getitem__)
    if case is Case.CENTRE_LOST:
        of = worst if len(site.centre) == len(shares) else 0
        for station in site.centre[of : of + 1]:
            station.lost = True
    if case is not Case.POD_LOST:
        return None
    site.pods[worst].lost = True
    if len(site.centre) == len(shares):  # its daemon is on the same machine
        site.centre[worst].lost = True
    if site.left_behind is not None:
        for _ in range(round(site.assumed.stale * site.assumed.rate * shares[worst])):
            site.left_behind(Job(0.0, worst, 0))
    return worst


def _outcome(site: Site, waits: list[float | None], lost: int | None) -> Outcome:
    assumed, load = site.assumed, site.load
    counted = [
        (job, assumed.window - job.at if wait is None else wait, wait is None)
        for job, wait in zip(load.jobs, waits, strict=True)
        if job.at >= assumed.warm_up
    ]
    alive = [(job, wait) for job, wait, _ in counted if job.pod != lost]
    early = [waits for job, _, waits in counted if job.at < assumed.window - 1]
    handed = sum(wait is not None for wait in waits)
    return Outcome(
        jobs=len(waits),
        handed=handed,
        waiting=len(waits) - handed,
        p50=percentile([wait for _, wait in alive], 0.5),
        p99=percentile([wait for _, wait in alive], 0.99),
        home_p99=percentile([wait for job, wait in alive if job.pod == load.home], 0.99),
        others_p99=percentile([wait for job, wait in alive if job.pod != load.home], 0.99),
        barred=sum(early) / len(early),
        busiest=max(map(_utilisation(assumed), [*site.pods, *site.centre])),
        mean=_mean(site),
        centre=max(map(_utilisation(assumed), site.centre), default=nan),
        in_vain=site.in_vain / max(site.claims - site.in_vain, 1),
    )


def _utilisation(assumed: Assumptions) -> Callable[[Station], float]:
    return lambda station: station.worked / station.servers / assumed.window


def _mean(site: Site) -> float:
    stations = [*site.pods, *site.centre]
    return sum(one.worked for one in stations) / sum(one.servers for one in stations) / site.assumed.window


def percentile(values: list[float], part: float) -> float:
    """The value that such a part of all is at or below; not a number where there is none."""
    return sorted(values)[min(int(part * len(values)), len(values) - 1)] if values else nan
