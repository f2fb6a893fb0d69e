"""Who makes jobs, where they live, and when their jobs become pending."""

from bisect import bisect
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from random import Random
from typing import NamedTuple

from bench.pods_simulation.inputs import Assumptions


class Case(StrEnum):
    """What happens in the simulated minute."""

    USUAL = "usual"
    BIG = "one organisation has 5 %"
    STORM = "one organisation makes 10,000 at once"
    POD_LOST = "the busiest pod is lost"
    CENTRE_LOST = "the centre is lost"


class Job(NamedTuple):
    """A job that becomes pending."""

    at: float
    pod: int
    shard: int


@dataclass(frozen=True, slots=True)
class Load:
    """The same for all ways, so that they are compared with the same jobs."""

    jobs: tuple[Job, ...]
    shares: tuple[float, ...]
    """Of all jobs, by pod."""
    home: int
    """The pod of the big organisation: one with a load as most have it, but for that."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where each organisation lives, and how large it is. An organisation's number is its index."""

    weights: tuple[float, ...]
    pods: tuple[int, ...]

    def shares(self, count: int) -> list[float]:
        """Of all jobs, by pod."""
        found = [0.0] * count
        for weight, pod in zip(self.weights, self.pods, strict=True):
            found[pod] += weight
        return found


def places(assumed: Assumptions, pods: int, random: Random) -> Places:
    """Organisations placed by chance; the shares of their jobs add up to one."""
    sizes = [(number + 1) ** -assumed.zipf for number in range(assumed.organisations)]
    total = sum(sizes)
    return Places(tuple(size / total for size in sizes), tuple(random.randrange(pods) for _ in sizes))


def load(assumed: Assumptions, pods: int, case: Case, seed: int) -> Load:
    """All jobs of the window, in the order of time."""
    random = Random(seed)
    there = places(assumed, pods, random)
    shares = there.shares(pods)
    home = sorted(range(pods), key=shares.__getitem__)[pods // 2]
    usual = 1 - assumed.big if case is Case.BIG else 1.0
    jobs = _usual(assumed, there, assumed.rate * usual, random)
    if case is Case.BIG:
        jobs += _bursts(assumed, home, random)
        shares = [share * usual + (assumed.big if pod == home else 0) for pod, share in enumerate(shares)]
    if case is Case.STORM:
        jobs += [Job(assumed.warm_up, home, 0)] * assumed.storm
    return Load(tuple(sorted(jobs)), tuple(shares), home)


def _usual(assumed: Assumptions, there: Places, rate: float, random: Random) -> list[Job]:
    sums = list(accumulate(there.weights))
    jobs, now = [], random.expovariate(rate)
    while now < assumed.window:
        number = min(bisect(sums, random.random()), len(sums) - 1)
        jobs.append(Job(now, there.pods[number], number % assumed.shards))
        now += random.expovariate(rate)
    return jobs


def _bursts(assumed: Assumptions, home: int, random: Random) -> list[Job]:
    rate = assumed.rate * assumed.big / assumed.burst
    jobs: list[Job] = []
    now = random.expovariate(rate)
    while now < assumed.window:
        jobs += [Job(now, home, 0)] * assumed.burst
        now += random.expovariate(rate)
    return jobs
