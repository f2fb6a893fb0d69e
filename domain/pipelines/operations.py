"""What people ask of a pipeline: play, retry, cancel (docs/reference/pipelines.md, "Play, retry and cancel").

Each operation is a function (pipeline, job) -> `Changes`, or raises `Refused` and changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.config.plan import When
from domain.errors import NotFound, Refused
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.refusals import refusal
from domain.pipelines.status import COMPLETE, Status, mirrored_from
from domain.pipelines.transitions import Transition

RETRIABLE = frozenset({Status.SUCCESS, Status.FAILED, Status.CANCELED, Status.CANCELING})
CANCELABLE = frozenset(Status) - COMPLETE - {Status.CANCELING}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A further attempt of a job, to be made as a new row; `enqueue` starts a manual or delayed one at once.

    One of a bridge that `follows` keeps the downstream pipeline that there is, and makes no new one. One that `repeats`
    is made without anybody having asked: it begins at the same step as the attempt before it.
    """

    job_id: int
    enqueue: bool = True
    follows: bool = False
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What an operation does: transitions, new attempts, and jobs to cancel (`redundant`: those of a newer commit)."""

    transitions: tuple[Transition, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cancel: tuple[int, ...] = ()
    redundant: tuple[int, ...] = ()
    unless_started: bool = False


def _find(pipeline: Pipeline, job_id: int) -> Job:
    job = pipeline.job(job_id)
    if job is None or not job.has_row:
        raise NotFound(
            f"Job {job_id} is not the latest attempt of any job of pipeline {pipeline.id}; name the latest attempt."
        )
    return job


def require_playable(pipeline: Pipeline, job_id: int) -> None:
    """Raise `Refused` for a job that was never meant to wait for a person or a time: people retry such a one.

    A stop job that has no `when: manual` is played by its environment all the same.
    """
    job = pipeline.job(job_id)
    if job is not None and job.when not in {When.MANUAL, When.DELAYED}:
        raise Refused(refusal(pipeline, job, "start"))


def play_job(pipeline: Pipeline, job_id: int) -> Changes:
    """Start a manual or scheduled job now and revive what it had ruled out; a finished job is retried instead."""
    job = _find(pipeline, job_id)
    if job.status in RETRIABLE:
        return retry_job(pipeline, job_id)
    if job.status not in {Status.MANUAL, Status.SCHEDULED}:
        raise Refused(refusal(pipeline, job, "play"))
    return Changes((Transition(job_id, job.enqueued), *revived(pipeline, [job])))


def retry_job(pipeline: Pipeline, job_id: int) -> Changes:
    """A new attempt of a finished job; skipped jobs after it get another chance."""
    job = _find(pipeline, job_id)
    if job.status not in RETRIABLE:
        raise Refused(refusal(pipeline, job, "retry"))
    return Changes(revived(pipeline, [job]), (Attempt(job_id),))


def retry_pipeline(pipeline: Pipeline) -> Changes:
    """A new attempt of every failed or canceled job; manual ones go back to manual; skipped ones get another chance."""
    jobs = [job for job in pipeline.jobs if job.status in {Status.FAILED, Status.CANCELED} and job.has_row]
    skipped = tuple(Transition(job.id, Status.CREATED) for job in pipeline.jobs if job.status is Status.SKIPPED)
    if not jobs and not skipped:
        raise Refused(f"Pipeline {pipeline.id} has no failed, canceled or skipped job to retry.")
    return Changes(skipped, tuple(Attempt(job.id, enqueue=False) for job in jobs))


def unschedule_job(pipeline: Pipeline, job_id: int) -> Changes:
    """Let a scheduled job wait for a person instead of its time."""
    job = _find(pipeline, job_id)
    if job.status is not Status.SCHEDULED:
        raise Refused(refusal(pipeline, job, "unschedule"))
    return Changes((Transition(job_id, Status.MANUAL),))


def cancel_job(pipeline: Pipeline, job_id: int) -> Changes:
    """Cancel one job that has not ended."""
    job = _find(pipeline, job_id)
    if job.status not in CANCELABLE:
        raise Refused(refusal(pipeline, job, "cancel"))
    return Changes(cancel=(job_id,))


def cancel_pipeline(pipeline: Pipeline) -> Changes:
    """Cancel every job that has not ended."""
    jobs = tuple(job.id for job in pipeline.jobs if job.status in CANCELABLE)
    if not jobs:
        raise Refused(f"Pipeline {pipeline.id} is {pipeline.status}; there is nothing to cancel.")
    return Changes(cancel=jobs)


def mirror_downstream(pipeline: Pipeline, job_id: int, status: str) -> Changes:
    """A bridge takes over that its downstream pipeline waits for a person, or goes on."""
    job = _find(pipeline, job_id)
    to = Status(status)
    if not job.follows or job.status not in mirrored_from(to) or to not in {Status.MANUAL, Status.RUNNING}:
        raise Refused(f"Job {job_id} is {job.status}; it does not take over {status}.")
    return Changes((Transition(job_id, to),))


def revive_bridge(pipeline: Pipeline, job_id: int) -> Changes:
    """A further attempt of a finished bridge whose downstream pipeline runs again: it follows that one as before."""
    job = _find(pipeline, job_id)
    if not job.bridge or job.status not in COMPLETE - {Status.SKIPPED}:
        raise Refused(f"Job {job_id} is {job.status}; only a finished bridge follows its downstream pipeline again.")
    return Changes(revived(pipeline, [job]), (Attempt(job_id, follows=True),))


def revived(pipeline: Pipeline, alive: Iterable[Job]) -> tuple[Transition, ...]:
    """The skipped jobs that may run again now that `alive` do: those of later stages, and all that need them."""
    roots = list(alive)
    first = min(job.stage for job in roots)
    reached = {job.name for job in roots}
    grown = True
    while grown:
        more = {job.name for job in pipeline.jobs if job.needs and reached.intersection(job.needs)} - reached
        reached |= more
        grown = bool(more)
    return tuple(
        Transition(job.id, Status.CREATED)
        for job in pipeline.jobs
        if job.status is Status.SKIPPED and (job.stage > first or job.name in reached)
    )
