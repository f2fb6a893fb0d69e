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

from domain.runners.in_reach import RunnersInReach
from domain.runners.matching import Candidate, Demand, RunnerType, may_take

Queue: TypeAlias = Mapping[int, Sequence[int]]
"""The ids of the jobs that wait, rising, by the id of their demand."""


@dataclass(frozen=True, slots=True)
class Place:
    """`position` counts from 1, among `jobs` that wait for the same runners, this one included."""

    position: int
    jobs: int


class Queued:
    """The queue of a moment, with the runners that there are; what is found for one job is kept for the next."""

    def __init__(
        self, demands: Mapping[int, Demand], queue: Queue, runners: Iterable[Candidate], loads: Mapping[int, int]
    ) -> None:
        """`demands` are those of the queue, by id; `loads` the jobs of projects that instance runners hold."""
        self._demands, self._queue, self._loads = demands, queue, loads
        self._reach = RunnersInReach(runner for runner in runners if runner.online)
        self._usable: dict[Demand, tuple[Candidate, ...]] = {}
        self._taken_by: dict[Candidate, frozenset[int]] = {}
        self._jobs: dict[frozenset[int], Mapping[int, Sequence[int]]] = {}

    def place(self, job_id: int, demand: Demand) -> Place | None:
        """Where a job stands; None for one that no runner takes, or that is not (or not yet) seen in the queue."""
        usable = self._usable_for(demand)
        by_project = self._by_project(frozenset().union(*(self.taken_by(runner) for runner in usable)))
        own = by_project.get(demand.project_id, ())
        before = bisect_left(own, job_id)
        if before == len(own) or own[before] != job_id:
            return None
        is_fair = any(runner.runner_type is RunnerType.INSTANCE for runner in usable)
        turn = self._loads.get(demand.project_id, 0) + before
        ahead = before + sum(
            _sooner(jobs, self._loads.get(project_id, 0), turn, job_id) if is_fair else bisect_left(jobs, job_id)
            for project_id, jobs in by_project.items()
            if project_id != demand.project_id
        )
        return Place(ahead + 1, sum(len(jobs) for jobs in by_project.values()))

    def _usable_for(self, demand: Demand) -> tuple[Candidate, ...]:
        if demand not in self._usable:
            self._usable[demand] = tuple(one for one in self._reach.near(demand) if may_take(demand, one))
        return self._usable[demand]

    def taken_by(self, runner: Candidate) -> frozenset[int]:
        """The demands of the queue that a runner may take."""
        if runner not in self._taken_by:
            found = (key for key in self._queue if key in self._demands and may_take(self._demands[key], runner))
            self._taken_by[runner] = frozenset(found)
        return self._taken_by[runner]

    def _by_project(self, demand_ids: frozenset[int]) -> Mapping[int, Sequence[int]]:
        """The jobs of these demands, rising, by project."""
        if demand_ids not in self._jobs:
            parts: defaultdict[int, list[Sequence[int]]] = defaultdict(list)
            for demand_id in demand_ids:
                parts[self._demands[demand_id].project_id].append(self._queue[demand_id])
            self._jobs[demand_ids] = {project_id: list(merge(*lists)) for project_id, lists in parts.items()}
        return self._jobs[demand_ids]


def _sooner(jobs: Sequence[int], load: int, turn: int, job_id: int) -> int:
    """How many jobs of another project are taken before one whose turn comes when its project holds `turn` jobs."""
    tied = turn - load
    if tied < 0:
        return 0
    return min(len(jobs), tied) + (1 if tied < len(jobs) and jobs[tied] < job_id else 0)
