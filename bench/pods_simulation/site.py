"""The stations of one simulation, and what burdens them beside the jobs that are handed out."""

from collections.abc import Callable
from random import Random

from bench.pods_simulation.clock import Clock, Station
from bench.pods_simulation.inputs import ASSUMED, COSTS, Assumptions, Costs
from bench.pods_simulation.load import Job, Load


class Site:
    """Pods of two cores each, and whatever a way puts in their midst."""

    def __init__(self, load: Load, seed: int, costs: Costs = COSTS, assumed: Assumptions = ASSUMED) -> None:
        self.costs, self.assumed, self.load = costs, assumed, load
        self.clock, self.random = Clock(), Random(seed + 1)
        self.pods = [Station(self.clock, assumed.pod_cores, self.random) for _ in load.shares]
        self.centre: list[Station] = []
        """A table or daemon for all, or its shards, or the daemons of the pods."""
        self.claims = 0
        self.in_vain = 0
        """Claims at a pod that found the job taken, or no pod."""
        self.left_behind: Callable[[Job], None] | None = None
        """What becomes of a job that was pending when its pod was lost, where others still know of it."""

    def stations(self, count: int, cores: int) -> list[Station]:
        """Further ones, in the midst."""
        self.centre = [Station(self.clock, cores, self.random) for _ in range(count)]
        return self.centre

    @property
    def connections(self) -> float:
        """Runners that stand ready, and are waiting for a response or on an open connection."""
        return self.assumed.rate * self.assumed.job * (1 / self.assumed.utilisation - 1)

    def stream(self, rate: float, mean: float, station: Callable[[], Station]) -> None:
        """Work that comes by chance all the time, for a station of that moment."""
        if rate <= 0:
            return

        def come() -> None:
            station().take(mean, _nothing)
            self.clock.after(self.random.expovariate(rate), come)

        self.clock.after(self.random.expovariate(rate), come)

    def rest_of_jobs(self) -> None:
        """What a job costs its pod beside being handed out, in all ways the same: in pieces, at any time."""
        pieces = self.assumed.pieces
        mean = (self.costs.whole - self.costs.claim) / pieces
        for share, pod in zip(self.load.shares, self.pods, strict=True):
            self.stream(share * self.assumed.rate * pieces, mean, lambda pod=pod: pod)  # type: ignore[misc]

    def renewals_at_pods(self) -> None:
        """Held requests that are asked again at the pod of the runner."""
        for share, pod in zip(self.load.shares, self.pods, strict=True):
            rate = share * self.connections / self.assumed.held
            self.stream(rate, self.costs.renewal, lambda pod=pod: pod)  # type: ignore[misc]


def _nothing() -> None:
    """Nobody waits for it."""
