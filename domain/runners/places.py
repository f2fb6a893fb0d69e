"""Where a job stands in the queue: how many others a runner that may take it would take first.

Jobs compete when one runner that is there may take either. An instance runner takes from the project of which instance
runners hold the fewest jobs, any other the oldest job (`domain.runners.matching.next_job`); jobs that instance runners
may take are counted in the first order.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import TypeAlias

from domain.runners.matching import Candidate, Demand, RunnerType, may_take

Queue: TypeAlias = Mapping[int, Sequence[int]]
"""The ids of the jobs that wait, rising, by the id of their demand."""


@dataclass(frozen=True, slots=True)
class Place:
    """`position` counts from 1, among `jobs` that wait for the same runners, this one included."""

    position: int
    jobs: int


class Rivals:
    """The jobs that compete with those of one demand, by project."""

    def __init__(
        self,
        demand: Demand,
        demands: Mapping[int, Demand],
        queue: Queue,
        runners: Iterable[Candidate],
        loads: Mapping[int, int],
    ) -> None:
        """Find them: `runners` are all that there are, `loads` the jobs of projects that instance runners hold."""
        usable = able(demand, runners)
        self._is_fair = any(runner.runner_type is RunnerType.INSTANCE for runner in usable)
        self._project_id = demand.project_id
        self._loads = loads
        parts: defaultdict[int, list[Sequence[int]]] = defaultdict(list)
        for demand_id in competing(usable, {key: demands[key] for key in queue if key in demands}):
            parts[demands[demand_id].project_id].append(queue[demand_id])
        self._jobs = {project_id: list(merge(*lists)) for project_id, lists in parts.items()}

    def place(self, job_id: int) -> Place | None:
        """Where one of the demand's jobs stands; None for one that is not (or not yet) seen in the queue."""
        own = self._jobs.get(self._project_id, [])
        before = bisect_left(own, job_id)
        if before == len(own) or own[before] != job_id:
            return None
        turn = self._loads.get(self._project_id, 0) + before
        others = (jobs for project_id, jobs in self._jobs.items() if project_id != self._project_id)
        if self._is_fair:
            loads = (load for load in (self._loads.get(key, 0) for key in self._jobs if key != self._project_id))
            ahead = sum(_sooner(jobs, load, turn, job_id) for jobs, load in zip(others, loads, strict=True))
        else:
            ahead = sum(bisect_left(jobs, job_id) for jobs in others)
        return Place(before + ahead + 1, sum(len(jobs) for jobs in self._jobs.values()))


def _sooner(jobs: Sequence[int], load: int, turn: int, job_id: int) -> int:
    """How many jobs of another project are taken before one whose turn comes when its project holds `turn` jobs."""
    tied = turn - load
    if tied < 0:
        return 0
    return min(len(jobs), tied) + (1 if tied < len(jobs) and jobs[tied] < job_id else 0)


def able(demand: Demand, runners: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The runners that are there and may take such a job; those that are alike once."""
    return tuple(runner for runner in dict.fromkeys(runners) if runner.online and may_take(demand, runner))


def competing(runners: Iterable[Candidate], demands: Mapping[int, Demand]) -> frozenset[int]:
    """Those of the demands, by id, whose jobs one of these runners may take."""
    usable = tuple(runners)
    return frozenset(key for key, one in demands.items() if any(may_take(one, runner) for runner in usable))
