"""One turn of a pipeline's loop as a pure function: what arrived and the time -> what shall be recorded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from domain.errors import PerdureError, Refused
from domain.messages import Answer, Command, Decision, Recorded
from domain.operations import (
    Attempt,
    Changes,
    cancel_job,
    cancel_pipeline,
    newly_alive,
    play_job,
    retry_job,
    retry_pipeline,
    revived,
    unschedule_job,
)
from domain.pipeline import Job, Pipeline
from domain.status import COMPLETE, OPEN, Status
from domain.transitions import Transition, apply_transitions, next_transitions
from domain.verdict import Verdict, retries_itself

MANY_VERDICTS: Final = 100
"""So many verdicts are recorded even when nothing follows from them."""

PIPELINE_OPERATIONS: Final[Mapping[str, Callable[[Pipeline], Changes]]] = {
    "cancel_pipeline": cancel_pipeline,
    "retry_pipeline": retry_pipeline,
}
JOB_OPERATIONS: Final[Mapping[str, Callable[[Pipeline, int], Changes]]] = {
    "cancel_job": cancel_job,
    "retry_job": retry_job,
    "play_job": play_job,
    "unschedule_job": unschedule_job,
}


@dataclass(frozen=True, slots=True)
class Turn:
    """The decision of a turn, or None when nothing is worth recording yet, and the pipeline as it will be."""

    decision: Decision | None
    pipeline: Pipeline


def decide(
    pipeline: Pipeline,
    verdicts: tuple[Verdict, ...],
    commands: tuple[Command, ...],
    now: datetime,
    *,
    room: int = 1_000_000,
) -> Turn:
    """Fold `verdicts`, obey `commands`, and take every transition that then follows.

    At most `room` jobs are offered; the others stay as they are for a later turn.
    """
    after, attempts = _fold(pipeline, verdicts)
    after, changes, answers = _obey(after, commands)
    attempts += changes.attempts
    after, transitions = _settle(after, changes.transitions, now, room)
    decision = Decision(
        pipeline.id,
        verdicts=verdicts,
        transitions=transitions,
        attempts=attempts,
        cancel=changes.cancel,
        answers=answers,
    )
    acts = bool(transitions or attempts or changes.cancel or answers)
    if acts or len(verdicts) >= MANY_VERDICTS or (verdicts and _ends_something(pipeline, after)):
        return Turn(decision, after)
    return Turn(None, pipeline)


def advance(pipeline: Pipeline, recorded: Recorded) -> Pipeline:
    """The pipeline after SQL has answered: new attempts in their places, statuses as the rows really are."""
    known = {job.id: job for job in pipeline.jobs}
    corrected = [
        replace(known[job_id], status=status)
        for job_id, status in recorded.statuses.items()
        if job_id in known and known[job_id].status is not status
    ]
    return replace(pipeline.with_jobs(corrected).with_jobs(recorded.attempts), status=recorded.status)


def next_due(pipeline: Pipeline, after: datetime | None = None) -> datetime | None:
    """When the next scheduled job is due. One that is due by `after` does not wait for its time but for room."""
    due = (job.due_at for job in pipeline.jobs if job.status is Status.SCHEDULED and job.due_at)
    return min((moment for moment in due if after is None or moment > after), default=None)


def _fold(pipeline: Pipeline, verdicts: tuple[Verdict, ...]) -> tuple[Pipeline, tuple[Attempt, ...]]:
    by_id = {job.id: job for job in pipeline.jobs}
    changed: list[Job] = []
    attempts: list[Attempt] = []
    for verdict in verdicts:
        job = by_id.get(verdict.job_id)
        if job is None:
            continue  # an older attempt: recorded, but nothing follows from it
        if retries_itself(job, verdict):
            attempts.append(Attempt(job.id))
            changed.append(_placeholder(job))
        else:
            allowed = job.allow_failure or verdict.allow_failure  # one given by hand in Temporal knows nothing of it
            changed.append(replace(job, status=verdict.status, allow_failure=allowed))
    return pipeline.with_jobs(changed), tuple(attempts)


def _placeholder(job: Job, *, enqueue: bool = True) -> Job:
    """Stands for a row that is still to be made: nothing can be decided about it, and what needs it waits."""
    return replace(job, id=-job.id, status=Status.CREATED, enqueue=enqueue, due_at=None)


def _obey(pipeline: Pipeline, commands: tuple[Command, ...]) -> tuple[Pipeline, Changes, tuple[Answer, ...]]:
    total = Changes()
    answers: list[Answer] = []
    for command in commands:
        try:
            changes = _changes(pipeline, command)
        except PerdureError as error:
            answers.append(Answer(command.key, command.name, command.job_id, refused=str(error)))
            continue
        pipeline = _with_changes(pipeline, changes)
        total = Changes(
            total.transitions + changes.transitions, total.attempts + changes.attempts, total.cancel + changes.cancel
        )
        started = [t.job_id for t in changes.transitions if t.to is Status.PENDING]
        started += [-attempt.job_id for attempt in changes.attempts]
        answers.append(
            Answer(command.key, command.name, command.job_id, jobs=tuple(started), variables=dict(command.variables))
        )
    return pipeline, total, tuple(answers)


def _changes(pipeline: Pipeline, command: Command) -> Changes:
    if command.name in PIPELINE_OPERATIONS:
        return PIPELINE_OPERATIONS[command.name](pipeline)
    if command.job_id is None:
        raise Refused(f"{command.name} needs a job_id.")
    return JOB_OPERATIONS[command.name](pipeline, command.job_id)


def _with_changes(pipeline: Pipeline, changes: Changes) -> Pipeline:
    pipeline = apply_transitions(pipeline, changes.transitions)
    enqueue = {attempt.job_id: attempt.enqueue for attempt in changes.attempts}
    renewed = [_placeholder(job, enqueue=enqueue[job.id]) for job in pipeline.jobs if job.id in enqueue]
    stopping = [
        replace(job, auto_retry=False, status=job.status if job.status in OPEN else Status.CANCELED)
        for job in pipeline.jobs
        if job.id in changes.cancel
    ]
    return pipeline.with_jobs(renewed).with_jobs(stopping)


def _settle(
    pipeline: Pipeline, first: tuple[Transition, ...], now: datetime, room: int
) -> tuple[Pipeline, tuple[Transition, ...]]:
    """Take transitions until none is left; what stopped and lives again revives what it had ruled out."""
    taken = list(first)
    room -= sum(transition.to is Status.PENDING for transition in first)
    while True:
        wave: list[Transition] = []
        for transition in next_transitions(pipeline, now):
            if transition.to is Status.PENDING and room <= 0:
                continue
            room -= transition.to is Status.PENDING
            wave.append(transition)
        if not wave:
            return pipeline, tuple(taken)
        before, pipeline = pipeline, apply_transitions(pipeline, tuple(wave))
        taken += wave
        alive = newly_alive(before, pipeline)
        if alive:
            again = revived(pipeline, alive)
            pipeline = apply_transitions(pipeline, again)
            taken += again


def _ends_something(before: Pipeline, after: Pipeline) -> bool:
    """Whether a stage has ended that had not: people shall see it at once."""
    return any(
        after.folded(stage) in COMPLETE and before.folded(stage) not in COMPLETE for stage in range(len(after.stages))
    )
