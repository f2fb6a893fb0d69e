"""The queue by tag sets: how much waits for which runners, and what of it no runner takes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.pipelines.stuck import why_stuck
from domain.runners.in_reach import Availability, RunnersInReach
from domain.runners.matching import Candidate, Demand


@dataclass(frozen=True, slots=True)
class WaitingJobs:
    """Pending jobs that ask for the same: how many, and for how many seconds the first of them has waited."""

    demand: Demand
    jobs: int
    waited: float


@dataclass(frozen=True, slots=True)
class QueuedTagSet:
    """Pending jobs with the same tags. Of `stuck` ones no runner takes any, the oldest of them because of `why`."""

    tags: tuple[str, ...]
    jobs: int
    waited: float
    stuck: int
    why: str


def queued_tag_sets(waiting: Iterable[WaitingJobs], runners: Sequence[Candidate]) -> list[QueuedTagSet]:
    """The queue of a pod by tags, what has waited longest first; `runners` are all of the pod."""
    reach = RunnersInReach(runners)
    alike: dict[tuple[str, ...], list[tuple[WaitingJobs, bool]]] = {}
    for one in waiting:
        is_stuck = reach.availability(one.demand) is not Availability.AVAILABLE
        alike.setdefault(tuple(sorted(one.demand.tags)), []).append((one, is_stuck))
    found = [_of(tags, items, runners) for tags, items in alike.items()]
    return sorted(found, key=lambda one: (-one.waited, one.tags))


def _of(tags: tuple[str, ...], items: Sequence[tuple[WaitingJobs, bool]], runners: Sequence[Candidate]) -> QueuedTagSet:
    stuck = [one for one, is_stuck in items if is_stuck]
    oldest = max(stuck, key=lambda one: one.waited, default=None)
    return QueuedTagSet(
        tags=tags,
        jobs=sum(one.jobs for one, _ in items),
        waited=max(one.waited for one, _ in items),
        stuck=sum(one.jobs for one in stuck),
        why="" if oldest is None else why_stuck(oldest.demand, runners),
    )
