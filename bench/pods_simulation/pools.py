"""What it costs that a runner serves one pod: runners idle here while jobs wait there, under unequal load.

Runners are planned for the load that is expected of a pod, with so much room; the hour's load is another one. A job
takes the next free runner of its pool, first come, first served.
"""

from collections import deque
from dataclasses import dataclass
from math import ceil
from random import Random

from bench.pods_simulation.claims import percentile
from bench.pods_simulation.clock import Clock
from bench.pods_simulation.inputs import ASSUMED, Assumptions
from bench.pods_simulation.load import Places, places


@dataclass(frozen=True, slots=True)
class Pooling:
    """What some minutes came to; waits are in seconds."""

    runners: int
    jobs: int
    handed: int
    waiting: int
    p50: float
    p99: float
    waited: float
    """Share of jobs that wait a second or more."""
    mismatch: float
    """Share of all runners that are idle while a job waits elsewhere, over time."""
    largest: float
    """Share of the largest pool in all runners: what is idle when what it serves is lost."""


class Pool:
    """Runners of one pod, or of all."""

    __slots__ = ("busy", "line", "runners")

    def __init__(self, runners: int) -> None:
        self.runners, self.busy = runners, 0
        self.line: deque[float] = deque()


class Pools:
    """Several pools on one clock, which adds up over time what is idle while others wait."""

    def __init__(self, sizes: list[int], mean: float, random: Random) -> None:
        self.clock, self.pools = Clock(), [Pool(size) for size in sizes]
        self.waits: list[float] = []
        self.area = 0.0
        """Runner-seconds that were idle while a job waited."""
        self._mean, self._random = mean, random
        self._idle, self._waiting, self._since = sum(sizes), 0, 0.0

    def _note(self) -> None:
        self.area += min(self._idle, self._waiting) * (self.clock.now - self._since)
        self._since = self.clock.now

    def come(self, pool: Pool) -> None:
        """A job comes to this pool."""
        self._note()
        if pool.busy < pool.runners:
            self._idle -= 1
            pool.busy += 1
            self._start(pool, 0.0)
        else:
            self._waiting += 1
            pool.line.append(self.clock.now)

    def occupy(self, pool: Pool, count: int) -> None:
        """So many of its runners have a job from before."""
        for _ in range(min(count, pool.runners)):
            self._idle -= 1
            pool.busy += 1
            self.clock.after(self._random.expovariate(1 / self._mean), lambda: self._free(pool))

    def _start(self, pool: Pool, waited: float) -> None:
        self.waits.append(waited)
        self.clock.after(self._random.expovariate(1 / self._mean), lambda: self._free(pool))

    def _free(self, pool: Pool) -> None:
        self._note()
        if pool.line:
            self._waiting -= 1
            self._start(pool, self.clock.now - pool.line.popleft())
        else:
            self._idle += 1
            pool.busy -= 1


def pooled(pools: int, spread: float, seed: int, assumed: Assumptions = ASSUMED) -> Pooling:
    """Simulate runners in so many pools, one for each pod or one for all; organisations are spread over them by chance.

    `spread` is the standard deviation of an organisation's load in this hour, against one that is what was planned.
    """
    random = Random(seed)
    there = places(assumed, pools, random)
    planned, rates = there.shares(pools), _hour(there, pools, spread, assumed.rate, seed)
    sizes = [max(1, ceil(share * assumed.rate * assumed.job / assumed.utilisation)) for share in planned]
    running = Pools(sizes, assumed.job, random)
    jobs = 0
    for pool, rate in zip(running.pools, rates, strict=True):
        running.occupy(pool, round(rate * assumed.job))
        now = random.expovariate(rate)
        while now < assumed.runner_window:
            jobs += 1
            running.clock.at(now, lambda pool=pool: running.come(pool))  # type: ignore[misc]
            now += random.expovariate(rate)
    running.clock.run(assumed.runner_window)
    return _told(running, sizes, jobs)


def _hour(there: Places, pools: int, spread: float, rate: float, seed: int) -> list[float]:
    """Jobs a second of each pool in this hour; all together as many as planned."""
    random = Random(seed + 1)
    drawn = [weight * (random.gammavariate(spread**-2, spread**2) if spread else 1) for weight in there.weights]
    total = sum(drawn)
    return [share * rate for share in Places(tuple(one / total for one in drawn), there.pods).shares(pools)]


def _told(running: Pools, sizes: list[int], jobs: int) -> Pooling:
    now = running.clock.now
    waits = running.waits + [now - since for pool in running.pools for since in pool.line]
    return Pooling(
        runners=sum(sizes),
        jobs=jobs,
        handed=len(running.waits),
        waiting=sum(len(pool.line) for pool in running.pools),
        p50=percentile(waits, 0.5),
        p99=percentile(waits, 0.99),
        waited=sum(wait >= 1 for wait in waits) / len(waits),
        mismatch=running.area / sum(sizes) / now,
        largest=max(sizes) / sum(sizes),
    )
