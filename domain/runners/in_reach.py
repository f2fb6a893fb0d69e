"""Many runners held against many jobs: found by whose jobs they take, so that not all are looked at for each job."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from domain.runners.matching import Candidate, Demand, RunnerType, may_take


class Availability(StrEnum):
    """What becomes of a job, by the best of the runners that may take it; the best comes first."""

    AVAILABLE = "available"
    SILENT = "silent"
    """It would be taken by runners that were not heard of for too long (`PERDURE_RUNNER_ONLINE`)."""
    PAUSED = "paused"
    NONE = "none"
    """No registered runner may."""

    @property
    def rank(self) -> int:
        """0 is the best."""
        return _RANKS[self]


_RANKS = {one: rank for rank, one in enumerate(Availability)}


class RunnersInReach:
    """Runners by whose jobs they take. Those that are alike are looked at once."""

    def __init__(self, runners: Iterable[Candidate]) -> None:
        """Sort them; costs as much as there are, and links to projects."""
        everybodys: dict[Candidate, None] = {}
        organisations: defaultdict[int | None, dict[Candidate, None]] = defaultdict(dict)
        projects: defaultdict[int, dict[Candidate, None]] = defaultdict(dict)
        for runner in runners:
            match runner.runner_type:
                case RunnerType.INSTANCE:
                    everybodys[runner] = None
                case RunnerType.GROUP:
                    organisations[runner.organisation_id][runner] = None
                case RunnerType.PROJECT:
                    for project_id in runner.projects:
                        projects[project_id][runner] = None
        self._everybodys, self._organisations, self._projects = everybodys, organisations, projects

    def near(self, demand: Demand) -> Iterator[Candidate]:
        """All that may take the job, and some that may not."""
        yield from self._everybodys
        yield from self._organisations.get(demand.organisation_id, ())
        yield from self._projects.get(demand.project_id, ())

    def availability(self, demand: Demand) -> Availability:
        """What becomes of the job."""
        best = Availability.NONE
        for runner in self.near(demand):
            found = _of_one(demand, runner)
            if found is Availability.AVAILABLE:
                return found
            best = min(best, found, key=lambda one: one.rank)
        return best


def _of_one(demand: Demand, runner: Candidate) -> Availability:
    if may_take(demand, runner):
        return Availability.AVAILABLE if runner.online else Availability.SILENT
    is_paused = runner.paused and may_take(demand, replace(runner, paused=False))
    return Availability.PAUSED if is_paused else Availability.NONE
