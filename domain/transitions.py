"""What the state of a pipeline and the time permit (reference: CI YAML and processing, section 11)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from domain.config.plan import When
from domain.pipeline import Job, Pipeline, in_needs_order
from domain.status import COMPLETE, Status, composite


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
    found: dict[str, Transition] = {}
    statuses = {job.name: job.status for job in pipeline.jobs}
    stages = _StageFold(pipeline)
    for job in in_needs_order(pipeline):
        transition = _transition(pipeline, job, statuses, stages, now)
        if transition is not None:
            found[job.name] = transition
            statuses[job.name] = transition.to
            stages.change(job, transition.to)
    return tuple(found.values())


def apply_transitions(pipeline: Pipeline, transitions: tuple[Transition, ...]) -> Pipeline:
    """The pipeline after `transitions`."""
    by_id = {transition.job_id: transition for transition in transitions}
    return pipeline.with_jobs(
        replace(job, status=by_id[job.id].to, due_at=by_id[job.id].due_at) for job in pipeline.jobs if job.id in by_id
    )


class _StageFold:
    """Composite of all stages before a position, computed once for each until one of their jobs changes."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._jobs: list[dict[str, tuple[Status, bool]]] = [{} for _ in pipeline.stages]
        for job in pipeline.jobs:
            self._jobs[job.stage][job.name] = (job.status, job.allow_failure)
        self._known: dict[int, Status] = {}

    def before(self, stage: int) -> Status:
        if stage not in self._known:
            self._known[stage] = composite(pair for jobs in self._jobs[:stage] for pair in jobs.values())
        return self._known[stage]

    def change(self, job: Job, to: Status) -> None:
        self._jobs[job.stage][job.name] = (to, job.allow_failure)
        self._known = {stage: status for stage, status in self._known.items() if stage <= job.stage}


def _transition(
    pipeline: Pipeline, job: Job, statuses: Mapping[str, Status], stages: _StageFold, now: datetime
) -> Transition | None:
    if job.status is Status.SCHEDULED and job.due_at is not None and job.due_at <= now:
        return Transition(job.id, job.enqueued)
    if job.status is Status.WAITING_FOR_RESOURCE and job.slot:
        return Transition(job.id, job.enqueued)
    if job.status is not Status.CREATED or not job.has_row:
        return None
    by_needs = job.needs is not None
    if by_needs:
        prior = composite(((statuses[n.name], n.allow_failure) for n in pipeline.needed_by(job)), needs=True)
    else:
        prior = stages.before(job.stage)
    if prior not in COMPLETE:
        return None
    if prior not in ACCEPTED[job.when][by_needs]:
        return Transition(job.id, Status.SKIPPED)
    return _accepted(job, now)


def _accepted(job: Job, now: datetime) -> Transition:
    if job.when is When.MANUAL and not job.enqueue:
        return Transition(job.id, Status.MANUAL)
    if job.when is When.DELAYED and not job.enqueue:
        return Transition(job.id, Status.SCHEDULED, now + timedelta(seconds=job.start_in or 0))
    return Transition(job.id, job.enqueued)
