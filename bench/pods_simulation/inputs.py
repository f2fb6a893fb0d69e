"""What the simulation starts from: what was measured, and what is assumed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Costs:
    """Processor time in seconds of one core, each from a figure in `docs/benchmarks.md`."""

    claim: float = 2 / 489
    """A job handed out, all told: "20 clients take 10,000 jobs", 489 claims/s on 2 cores that are full (3677579)."""
    claim_in_database: float = 0.75 / 489
    """PostgreSQL's part of it: what API, worker and load leave of 2 cores, 0.75 (table of "The runner gateway").

    That share was measured at 229 claims/s, and is taken to be the same at 489.
    """
    look: float = 0.75 / 489 * 229 / 105
    """The same where looks of several pods cannot be one transaction: 105 claims/s without that, 229 with it."""
    write: float = 0.75 / 489 * 229 / 105 * 3 / 10
    """A row written or removed: three of the ten round trips that such a claim takes (same place)."""
    request: float = 2 / 885
    """A call from one service to another: "real API: direct", 885 requests/s on 2 cores (54cd118)."""
    renewal: float = 0.0418 / 20
    """A held request asked again: 1,000 held for 50 s, 20 a second, cost 4.18 % of a core (3677579)."""
    frame: float = 170e-6
    """A message on an open connection: what a request costs the embedded router, 170 us ("The router")."""
    whole: float = 14.56e-3
    """A job's whole way in its pod: 7.60 ms of our process and 6.96 of Temporal (3677579)."""
    hop: float = 0.9e-3
    """Waiting for one hop more: p50 of 100 requests/s through the embedded router less that of direct (c4d34cc)."""
    connection: float = 22 / 1000
    """MiB of a held connection: "1,000 held polls: memory on top", 22 MiB ("The router")."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What nobody measured. Times are in seconds."""

    jobs_per_day: float = 20e6
    peak: float = 2.0
    """The peak hour against the mean of the day."""
    window: float = 40.0
    """Simulated part of the peak hour, for claims."""
    warm_up: float = 5.0
    """Its beginning, which is not counted."""
    organisations: int = 10_000
    zipf: float = 0.7
    """The n-th organisation has n ** -zipf of the first one's jobs; the first has some 2 % of all."""
    pod_cores: int = 2
    central_cores: int = 8
    """Of a table or daemon for all; as if it became four times as fast with them, which favours those ways."""
    shards: int = 4
    """Each of a quarter of those cores."""
    pieces: int = 4
    """Requests that the rest of a job's way in its pod consists of."""
    big: float = 0.05
    """Share of all jobs of the one big organisation."""
    burst: int = 100
    """Jobs of that organisation that become pending at once: a stage of a pipeline."""
    storm: int = 10_000
    """Jobs of one organisation at once, in the case of abuse."""
    choice: int = 1_000
    """Oldest entries of a global table among which a looking pod chooses by chance, so that few choose the same."""
    narrow: int = 32
    """The same where a pod reads no more of the table than that, for comparison."""
    away: float = 1.0
    """Until a claim at a pod that does not answer is given up."""
    again: float = 5.0
    """After that, until its entry is tried again."""
    stale: float = 30.0
    """Seconds' worth of a pod's jobs in the global table when that pod is lost."""
    job: float = 60.0
    """Mean time that a job keeps its runner."""
    held: float = 50.0
    """How long a request for a job is held."""
    ping: float = 30.0
    """Between signs of life on an open connection."""
    runner_window: float = 300.0
    """Simulated part of the peak hour, for runners."""
    utilisation: float = 0.8
    """Of all runners, so that as many stand ready as this leaves."""

    @property
    def rate(self) -> float:
        """Jobs a second in the peak hour."""
        return self.jobs_per_day / 86_400 * self.peak


COSTS = Costs()
ASSUMED = Assumptions()
