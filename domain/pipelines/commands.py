"""What is asked of a pipeline in one turn of its loop: commands in the order in which they came, and what each changes.

Source: docs/reference/pipelines.md, "Play, retry and cancel"; `domain.pipelines.operations` has the operations.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from domain.errors import PerdureError, Refused
from domain.messages import Answer, Command, Started
from domain.pipelines.operations import (
    Changes,
    cancel_job,
    cancel_pipeline,
    mirror_downstream,
    play_job,
    retry_job,
    retry_pipeline,
    revive_bridge,
    unschedule_job,
)
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.redundancy import redundant_jobs
from domain.pipelines.status import Status
from domain.pipelines.transitions import apply_transitions

MANY_STARTED: Final = 100
"""An answer names so many of the jobs that were started."""


def auto_cancel(pipeline: Pipeline) -> Changes:
    """A newer commit cancels what `workflow:auto_cancel:on_new_commit` lets it.

    Source: docs/reference/pipelines.md, "Automatic cancel".
    """
    jobs = redundant_jobs(pipeline)
    if not jobs:
        raise Refused(f"Pipeline {pipeline.id} has nothing that a newer commit may cancel.")
    return Changes(redundant=jobs, unless_started=pipeline.on_new_commit == "conservative")


PIPELINE_OPERATIONS: Final[Mapping[str, Callable[[Pipeline], Changes]]] = {
    "cancel_pipeline": cancel_pipeline,
    "retry_pipeline": retry_pipeline,
    "auto_cancel": auto_cancel,
}
JOB_OPERATIONS: Final[Mapping[str, Callable[[Pipeline, int], Changes]]] = {
    "cancel_job": cancel_job,
    "retry_job": retry_job,
    "play_job": play_job,
    "unschedule_job": unschedule_job,
    "revive_bridge": revive_bridge,
}

WAIT_FOR_ALL: Final = frozenset({"retry_pipeline", "auto_cancel"})
"""Commands about every job there is: they wait for rows that the same turn changes."""

SPARE_OPEN: Final = frozenset({"retry_pipeline"})
"""Commands that leave out what has not ended: of a job that failed a moment ago SQL knows first."""


GIVES_USER: Final = frozenset({"play_job", "retry_job", "retry_pipeline", "unschedule_job", "revive_bridge"})
"""Commands whose caller becomes the user of what they start: it runs with the rights of no other (decision 23)."""


@dataclass(frozen=True, slots=True)
class Obeyed:
    """The pipeline after commands, what they change together, and their answers.

    `waiting` are commands for the next turn: what they are about is only known when this one is recorded. `is_doubtful`
    says that one was refused, or left something out, because of a job whose end SQL may know already.
    """

    pipeline: Pipeline
    changes: Changes
    answers: tuple[Answer, ...]
    started: tuple[Started, ...] = ()
    waiting: tuple[Command, ...] = ()
    is_doubtful: bool = False


def obey(pipeline: Pipeline, commands: tuple[Command, ...], unknown: set[int] | None) -> Obeyed:
    """Obey commands in their order, up to the first that must wait. A refused one changes nothing.

    `unknown` are jobs of which this turn only asks for something: a further attempt, whose row is still to be made, or
    the end of one that a runner may hold, of which SQL alone knows what it becomes. Commands add to them, and one that
    is about such a job waits. None lets no command wait, as versions before did.
    """
    total = Changes()
    answers: list[Answer] = []
    started: list[Started] = []
    seen = set() if unknown is None else set(unknown)
    is_doubtful = False
    for place, command in enumerate(commands):
        if unknown is not None and seen and (command.job_id in seen or command.name in WAIT_FOR_ALL):
            return Obeyed(pipeline, total, tuple(answers), tuple(started), commands[place:], is_doubtful)
        try:
            changes = _changes(pipeline, command)
        except PerdureError as error:
            answers.append(Answer(command.key, command.name, command.job_id, refused=str(error)))
            is_doubtful = is_doubtful or _is_about_open(pipeline, command)
            continue
        is_doubtful = is_doubtful or (command.name in SPARE_OPEN and _is_about_open(pipeline, command))
        pipeline, total = with_changes(pipeline, changes), _together(total, changes)
        seen |= {attempt.job_id for attempt in changes.attempts} | still_open(pipeline, changes.cancel)
        seen.update(changes.redundant)
        answers.append(_answer(command, changes))
        started += _started(command, changes)
    return Obeyed(pipeline, total, tuple(answers), tuple(started), is_doubtful=is_doubtful)


def _is_about_open(pipeline: Pipeline, command: Command) -> bool:
    return any(job.is_open for job in pipeline.jobs if command.job_id in {None, job.id})


def _together(first: Changes, second: Changes) -> Changes:
    return Changes(
        first.transitions + second.transitions,
        first.attempts + second.attempts,
        first.cancel + second.cancel,
        first.redundant + second.redundant,
        first.unless_started or second.unless_started,
    )


def _answer(command: Command, changes: Changes) -> Answer:
    started = [t.job_id for t in changes.transitions if t.to in {Status.PENDING, Status.WAITING_FOR_RESOURCE}]
    started += [-attempt.job_id for attempt in changes.attempts[:MANY_STARTED]]
    return Answer(command.key, command.name, command.job_id, jobs=tuple(started), variables=dict(command.variables))


def _started(command: Command, changes: Changes) -> list[Started]:
    moved = tuple(transition.job_id for transition in changes.transitions)
    jobs = moved + tuple(-attempt.job_id for attempt in changes.attempts)
    return [Started(command.key, command.name, command.job_id, jobs)] if command.name in GIVES_USER and jobs else []


def still_open(pipeline: Pipeline, canceled: tuple[int, ...]) -> set[int]:
    """Those of the canceled jobs that SQL has to end."""
    wanted = set(canceled)
    return {job.id for job in pipeline.jobs if job.id in wanted and job.is_open}


def _changes(pipeline: Pipeline, command: Command) -> Changes:
    if command.name in PIPELINE_OPERATIONS:
        return PIPELINE_OPERATIONS[command.name](pipeline)
    if command.job_id is None:
        raise Refused(f"{command.name} needs a job_id.")
    if command.name == "mirror_downstream":
        return mirror_downstream(pipeline, command.job_id, command.reason)
    changes = JOB_OPERATIONS[command.name](pipeline, command.job_id)
    if command.refused:
        raise Refused(command.refused)
    return changes


def with_changes(pipeline: Pipeline, changes: Changes) -> Pipeline:
    """The pipeline after changes; a job that is to be canceled stays as it is while a runner may hold it."""
    pipeline = apply_transitions(pipeline, changes.transitions)
    enqueue = {attempt.job_id: attempt.enqueue for attempt in changes.attempts}
    renewed = [placeholder(job, enqueue=enqueue[job.id]) for job in pipeline.jobs if job.id in enqueue]
    stopping = [
        replace(job, auto_retry=False, status=job.status if job.is_open else Status.CANCELED)
        for job in pipeline.jobs
        if job.id in changes.cancel
    ]
    return pipeline.with_jobs(renewed).with_jobs(stopping)


def placeholder(job: Job, *, enqueue: bool = True) -> Job:
    """Stands for a row that is still to be made: nothing can be decided about it, and what needs it waits."""
    return replace(job, id=-job.id, status=Status.CREATED, enqueue=enqueue, due_at=None, slot=False)
