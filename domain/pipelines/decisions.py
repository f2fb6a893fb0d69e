"""One turn of a pipeline's loop as a pure function: what arrived and the time -> what shall be recorded."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from domain.messages import Command, Decision, Recorded
from domain.pipelines.commands import obey, placeholder, still_open, with_changes
from domain.pipelines.operations import CANCELABLE, Attempt, Changes, revived
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.transitions import Transition, apply_transitions, next_transitions
from domain.pipelines.verdict import Verdict, retries_itself

MANY_VERDICTS: Final = 100
"""So many verdicts are recorded even when nothing follows from them."""

MANY_CHANGES: Final = 500
"""After so many transitions a turn ends; the next one goes on."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The decision of a turn, or None when nothing is worth recording yet, and the pipeline as it will be.

    `waiting` are commands for the next turn: what they are about is only known when this one is recorded. `is_doubtful`
    says that one was refused, or left something out, because of a job whose end SQL may know already: whoever has not
    just read it does so.
    """

    decision: Decision | None
    pipeline: Pipeline
    waiting: tuple[Command, ...] = ()
    is_doubtful: bool = False


def decide(
    pipeline: Pipeline,
    verdicts: tuple[Verdict, ...],
    commands: tuple[Command, ...],
    now: datetime,
    *,
    room: int = 1_000_000,
    granted: frozenset[int] = frozenset(),
    owed: bool = False,
    is_new: bool = True,
    due_revives: bool = False,
) -> Turn:
    """Fold `verdicts`, obey `commands`, and take every transition that then follows.

    At most `room` jobs are offered; the others stay as they are for a later turn. `granted` are waiting jobs whose
    resource group has chosen them. `owed` asks for a record whatever follows: what SQL shows is not what its rows say,
    or a verdict has waited there. `is_new` is false for a run whose history was begun by a version without those rules
    that ask for it: it must decide again what it decided then. `due_revives` is true for one in which skipped jobs were
    decided anew when the time of a delayed job came.
    """
    after, attempts, is_urgent = _fold(pipeline, verdicts)
    after, stopped, reason = _stop_after_failure(after, verdicts, is_new=is_new)
    unknown = {attempt.job_id for attempt in attempts} | still_open(after, stopped)
    obeyed = obey(after, commands, unknown if is_new else None)
    after, changes = obeyed.pipeline, obeyed.changes
    attempts += changes.attempts
    transitions = changes.transitions
    if not changes.redundant:  # whether those are canceled is only known when it is recorded
        after, transitions = _settle(after, transitions, now, room, due_revives=due_revives)
    cancel = stopped + changes.cancel
    decision = Decision(
        pipeline.id,
        verdicts=verdicts,
        transitions=transitions,
        attempts=attempts,
        cancel=cancel,
        answers=obeyed.answers,
        takes=_takes(after, granted),
        redundant=changes.redundant,
        unless_started=changes.unless_started,
        reason=reason
        or next((command.reason for command in commands if command.reason and command.job_id is None), ""),
        started=obeyed.started,
    )
    acts = bool(transitions or attempts or cancel or obeyed.answers or decision.takes or decision.redundant)
    counts = _is_worth_recording if is_new else _ends_something
    if acts or owed or is_urgent or len(verdicts) >= MANY_VERDICTS or (verdicts and counts(pipeline, after, verdicts)):
        return Turn(decision, after, obeyed.waiting, obeyed.is_doubtful)
    return Turn(None, pipeline)


def advance(pipeline: Pipeline, recorded: Recorded) -> Pipeline:
    """The pipeline after SQL has answered: new attempts in their places, statuses as the rows really are."""
    known = {job.id: job for job in pipeline.jobs}
    corrected = [
        replace(known[job_id], status=status)
        for job_id, status in recorded.statuses.items()
        if job_id in known and known[job_id].status is not status
    ]
    after = pipeline.with_jobs(corrected).with_jobs(recorded.attempts)
    slots = [replace(job, slot=True) for job in after.jobs if job.id in recorded.slots] if recorded.slots else []
    return after.with_jobs(slots).now(recorded.status)


def next_due(pipeline: Pipeline, after: datetime | None = None) -> datetime | None:
    """When the next scheduled job is due. One that is due by `after` does not wait for its time but for room."""
    due = (job.due_at for job in pipeline.jobs if job.status is Status.SCHEDULED and job.due_at)
    return min((moment for moment in due if after is None or moment > after), default=None)


def _fold(pipeline: Pipeline, verdicts: tuple[Verdict, ...]) -> tuple[Pipeline, tuple[Attempt, ...], bool]:
    """The pipeline afterwards, further attempts, and whether a verdict must be recorded though nothing follows.

    That is one which SQL does not know, and one of an older attempt, for which the pipeline has waited.
    """
    by_id = {job.id: job for job in pipeline.jobs}
    changed: list[Job] = []
    attempts: list[Attempt] = []
    is_urgent = False
    for verdict in verdicts:
        is_urgent = is_urgent or not verdict.of_row or verdict.job_id not in by_id
        job = by_id.get(verdict.job_id)
        if job is None:
            continue  # an older attempt: recorded, but nothing follows from it
        if retries_itself(job, verdict):
            attempts.append(Attempt(job.id, repeats=True))
            changed.append(placeholder(job))
        else:
            allowed = job.allow_failure or verdict.allow_failure  # one given by hand in Temporal knows nothing of it
            changed.append(replace(job, status=verdict.status, allow_failure=allowed))
    return pipeline.with_jobs(changed), tuple(attempts), is_urgent


def _stop_after_failure(
    pipeline: Pipeline, verdicts: tuple[Verdict, ...], *, is_new: bool
) -> tuple[Pipeline, tuple[int, ...], str]:
    """With `workflow:auto_cancel:on_job_failure: all` a job that has failed for good cancels all that has not ended.

    Also an attempt that this turn makes.
    """
    if pipeline.on_job_failure != "all":
        return pipeline, (), ""
    ended = {verdict.job_id for verdict in verdicts if verdict.status is Status.FAILED}
    failed = [job.name for job in pipeline.jobs if job.id in ended and counts_as_failure(job)]
    reached = (job for job in pipeline.jobs if job.status in CANCELABLE and (job.has_row or is_new))
    jobs = tuple(job.id for job in reached) if failed else ()
    if not jobs:
        return pipeline, (), ""
    reason = f"Job {failed[0]} failed, and workflow:auto_cancel:on_job_failure is all."
    return with_changes(pipeline, Changes(cancel=jobs)), jobs, reason


def counts_as_failure(job: Job) -> bool:
    """Whether a job has failed and was not allowed to."""
    return job.status is Status.FAILED and not job.allow_failure


def _takes(pipeline: Pipeline, granted: frozenset[int]) -> tuple[int, ...]:
    if not granted:
        return ()
    waiting = (job for job in pipeline.jobs if job.status is Status.WAITING_FOR_RESOURCE and not job.slot)
    return tuple(job.id for job in waiting if job.id in granted)


def _settle(
    pipeline: Pipeline, first: tuple[Transition, ...], now: datetime, room: int, *, due_revives: bool
) -> tuple[Pipeline, tuple[Transition, ...]]:
    """Take transitions until none is left. A job whose time has come revives nothing (`due_revives`: of older runs)."""
    taken = list(first)
    room -= sum(transition.to is Status.PENDING for transition in first)
    while True:
        wave: list[Transition] = []
        for transition in next_transitions(pipeline, now):
            if transition.to is Status.PENDING and room <= 0:
                continue
            room -= transition.to is Status.PENDING
            wave.append(transition)
        if not wave or len(taken) >= MANY_CHANGES:
            return pipeline, tuple(taken)
        before, pipeline = pipeline, apply_transitions(pipeline, tuple(wave))
        taken += wave
        moved = {transition.job_id for transition in wave} if due_revives else set()
        due = [job for job in before.jobs if job.id in moved and job.status is Status.SCHEDULED]
        if due:
            again = revived(pipeline, due)
            pipeline = apply_transitions(pipeline, again)
            taken += again


def _is_worth_recording(before: Pipeline, after: Pipeline, verdicts: tuple[Verdict, ...]) -> bool:
    """Whether verdicts from which nothing follows must be recorded all the same.

    They must when nobody is waited for any more, for no later verdict will take them along; when one is of a bridge,
    which can come to life again only then; and when a stage or the pipeline shall be shown otherwise than SQL shows it
    now, where a verdict that is not folded counts as running. What this workflow has canceled counted as that at once.
    """
    if not any(job.is_open for job in after.jobs):
        return True
    ended = {verdict.job_id: Status.RUNNING if verdict.ran else Status.PENDING for verdict in verdicts}
    if any(job.bridge for job in before.jobs if job.id in ended):
        return True
    news = (job for job in before.jobs if job.id in ended and job.status not in COMPLETE)
    shown = _as_shown(before).with_jobs(replace(job, status=ended[job.id]) for job in news)
    then = _as_shown(after)
    touched = sorted({job.stage for job in before.jobs if job.id in ended})
    return any(shown.folded(stage) is not then.folded(stage) for stage in (None, *touched))


def _as_shown(pipeline: Pipeline) -> Pipeline:
    """Jobs that runners hold may be back in the queue by now; nobody tells the workflow of that."""
    held = (job for job in pipeline.jobs if job.status is Status.RUNNING)
    return pipeline.with_jobs(replace(job, status=Status.PENDING) for job in held)


def _ends_something(before: Pipeline, after: Pipeline, verdicts: tuple[Verdict, ...]) -> bool:
    """Whether a stage has ended that had not: the rule of runs that an older version has begun."""
    ended = {verdict.job_id for verdict in verdicts}
    touched = {job.stage for job in before.jobs if job.id in ended}
    return any(after.folded(stage) in COMPLETE and before.folded(stage) not in COMPLETE for stage in sorted(touched))
