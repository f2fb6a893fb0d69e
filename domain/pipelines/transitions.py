"""What the state of a pipeline and the time permit (docs/reference/pipelines.md, "When a job may start")."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from domain.config.plan import When
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, Status, composite


@dataclass(frozen=True, slots=True)
class Transition:
    """A job that shall change its status. `due_at` goes with `scheduled`."""

    job_id: int
    to: Status
    due_at: datetime | None = None


_S, _F, _K = Status.SUCCESS, Status.FAILED, Status.SKIPPED

ACCEPTED: Final[Mapping[When, tuple[frozenset[Status], frozenset[Status]]]] = {
    When.ON_SUCCESS: (frozenset({_S, _K}), frozenset({_S})),
    When.MANUAL: (frozenset({_S, _K}), frozenset({_S})),
    When.DELAYED: (frozenset({_S, _K}), frozenset({_S})),
    When.ON_FAILURE: (frozenset({_F}), frozenset({_F})),
    When.ALWAYS: (frozenset({_S, _F, _K}), frozenset({_S, _F, _K})),
}
"""For each `when`: what may have become of everything before the job, in stage mode and in needs mode."""


def next_transitions(pipeline: Pipeline, now: datetime) -> tuple[Transition, ...]:
    """Every transition that follows from the state without any further event, in stage order.

    A job that is skipped here may rule out others in the same call. Jobs never change twice in one call. An attempt
    without a row stays as it is.
    """
    found: list[Transition] = []
    jobs = list(pipeline.jobs)
    stages = _StageFold(pipeline)
    for place in pipeline.needs.order:
        job = jobs[place]
        if job.status not in _UNDECIDED:
            continue
        transition = _transition(job, pipeline.needs.wanted[place], jobs, stages, now)
        if transition is not None:
            found.append(transition)
            jobs[place] = replace(job, status=transition.to)
            stages.change(job, transition.to)
    return tuple(found)


_UNDECIDED: Final = frozenset({Status.CREATED, Status.SCHEDULED, Status.WAITING_FOR_RESOURCE})
"""States that a job leaves without any further event."""


def apply_transitions(pipeline: Pipeline, transitions: tuple[Transition, ...]) -> Pipeline:
    """The pipeline after `transitions`."""
    by_id = {transition.job_id: transition for transition in transitions}
    return pipeline.with_jobs(_moved(job, by_id[job.id]) for job in pipeline.jobs if job.id in by_id)


def _moved(job: Job, transition: Transition) -> Job:
    """A job that begins anew has given its slot back, and follows no downstream pipeline."""
    is_anew = transition.to is Status.CREATED
    slot, follows = job.slot and not is_anew, job.follows and not is_anew
    return replace(job, status=transition.to, due_at=transition.due_at, slot=slot, follows=follows)


class _StageFold:
    """Composite of all stages before a position, computed once for each until one of their jobs changes.

    Jobs of one stage that count the same are counted, not kept: a stage may have thousands.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._counts: list[dict[tuple[Status, bool], int]] = [{} for _ in pipeline.stages]
        for job in pipeline.jobs:
            counts = self._counts[job.stage]
            kind = (job.status, job.allow_failure)
            counts[kind] = counts.get(kind, 0) + 1
        self._known: dict[int, Status] = {}

    def before(self, stage: int) -> Status:
        if stage not in self._known:
            self._known[stage] = composite(kind for counts in self._counts[:stage] for kind in counts)
        return self._known[stage]

    def change(self, job: Job, to: Status) -> None:
        counts = self._counts[job.stage]
        old, new = (job.status, job.allow_failure), (to, job.allow_failure)
        counts[old] -= 1
        if not counts[old]:
            del counts[old]
        counts[new] = counts.get(new, 0) + 1
        if any(stage > job.stage for stage in self._known):
            self._known = {stage: status for stage, status in self._known.items() if stage <= job.stage}


def _transition(
    job: Job, wanted: tuple[int, ...] | None, jobs: Sequence[Job], stages: _StageFold, now: datetime
) -> Transition | None:
    if job.status is Status.SCHEDULED:
        return Transition(job.id, job.enqueued) if job.due_at is not None and job.due_at <= now else None
    if job.status is Status.WAITING_FOR_RESOURCE:
        return Transition(job.id, Status.PENDING) if job.slot else None
    if not job.has_row:
        return None
    if wanted is not None:
        prior = composite([(jobs[place].status, jobs[place].allow_failure) for place in wanted], needs=True)
    else:
        prior = stages.before(job.stage)
    if prior not in COMPLETE:
        return None
    if prior not in ACCEPTED[job.when][wanted is not None]:
        return Transition(job.id, Status.SKIPPED)
    return _accepted(job, now)


def _accepted(job: Job, now: datetime) -> Transition:
    if job.when is When.MANUAL and not job.enqueue:
        return Transition(job.id, Status.MANUAL)
    if job.when is When.DELAYED and not job.enqueue:
        return Transition(job.id, Status.SCHEDULED, now + timedelta(seconds=job.start_in or 0))
    return Transition(job.id, job.enqueued)
