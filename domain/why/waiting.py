"""Why a job that has not been offered to runners waits, and why one was skipped."""

from collections.abc import Sequence
from typing import Any, Final

from domain.config.plan import When
from domain.pipelines.explanation import Cause
from domain.pipelines.pipeline import Job
from domain.pipelines.shown_status import shown_job
from domain.pipelines.status import Status
from domain.why.explanation import MAX_NAMED, Explanation, Reason, counted
from domain.why.known import KnownJob, OtherJob, SlotWait

_REASONS: Final = {
    Cause.JOBS: Reason.JOBS,
    Cause.PERSON: Reason.PERSON,
    Cause.TIME: Reason.TIME,
    Cause.SLOT: Reason.RESOURCE_GROUP,
    Cause.RUNNER: Reason.RUNNER,
    Cause.DOWNSTREAM: Reason.DOWNSTREAM,
    Cause.TURN: Reason.PIPELINE,
    Cause.ROOM: Reason.PIPELINE,
    Cause.RULED_OUT: Reason.RULED_OUT,
    Cause.ENDED: Reason.SUCCEEDED,
}


def by_graph(job: KnownJob) -> Explanation:
    """A job that is created, manual, scheduled or skipped, by what is before it in its pipeline."""
    seen = job.in_graph
    if seen is None:
        return Explanation(Reason.PIPELINE, f"It is {shown_job(job).text.lower()}.")
    found, others = seen.job, seen.others
    facts: dict[str, Any] = {
        "jobs": [one.facts for one in others],
        "more_jobs": seen.more,
        "when": str(found.when),
    }
    match job.status:
        case Status.CREATED:
            return Explanation(_REASONS[seen.cause], seen.text, facts, _after_created(found, others))
        case Status.SKIPPED:
            return Explanation(Reason.RULED_OUT, seen.text, facts, _after_skipped(found, others))
        case Status.MANUAL if seen.cause is Cause.PERSON:
            return _manual(found, facts)
        case Status.SCHEDULED if seen.cause is Cause.TIME:
            facts["due_at"] = None if found.due_at is None else found.due_at.isoformat(timespec="seconds")
            return Explanation(Reason.TIME, seen.text, facts, "It starts by itself then; play it to start it now.")
    return Explanation(_REASONS[seen.cause], seen.text, facts)


def _manual(found: Job, facts: dict[str, Any]) -> Explanation:
    optional = "the pipeline does not wait for it" if found.allow_failure else "so does all that comes after it"
    facts["allow_failure"] = found.allow_failure
    return Explanation(Reason.PERSON, f"It waits for a person; {optional}.", facts, "Play it.")


def _after_created(found: Job, others: Sequence[OtherJob]) -> str:
    if manual := [one for one in others if one.status is Status.MANUAL]:
        return f"Play {_named(manual)}."
    if found.when is When.MANUAL:
        return "It can be played when they have ended."
    return "It goes on by itself when they have ended." if others else ""


def _after_skipped(found: Job, others: Sequence[OtherJob]) -> str:
    if not others:
        return "Nothing is to be done: `when: on_failure` is for the case that something fails."
    if manual := [one for one in others if one.status is Status.MANUAL]:
        return f"Play {_named(manual)}; then it gets another chance."
    if ended := [one for one in others if one.status in {Status.FAILED, Status.CANCELED}]:
        return f"Retry {_named(ended)}; if that succeeds, it gets another chance."
    if found.needs is not None:
        return f"See why {_named(others)} was skipped: what lets that run lets this one run."
    return "Retry or play what ruled it out, and it gets another chance."


def _named(jobs: Sequence[OtherJob]) -> str:
    names = [one.name for one in jobs]
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def for_slot(job: KnownJob) -> Explanation:
    """A job that waits for its resource group."""
    slot = job.slot
    if slot is None:
        return Explanation(Reason.RESOURCE_GROUP, "It waits for the slot of its resource group.")
    facts = {
        "resource_group": slot.key,
        "process_mode": slot.mode,
        "holder": None if slot.holder is None else slot.holder.facts,
        "kept_for": None if slot.kept_for is None else slot.kept_for.facts,
        "before": slot.before,
        "waiting": slot.waiting,
    }
    turn = _turn(slot.before)
    text, next_step = _slot_words(slot)
    return Explanation(Reason.RESOURCE_GROUP, f"{text} {turn}.", facts, next_step)


def _turn(before: int) -> str:
    return f"{counted(before, 'job')} {'is' if before == 1 else 'are'} before it" if before else "It is next"


def _slot_words(slot: SlotWait) -> tuple[str, str]:
    group = f"It waits for resource group {slot.key}"
    if slot.holder is not None:
        step = "It goes on by itself when that job has ended; cancel that one if it shall not go on."
        return f"{group}, which {slot.holder.words} holds.", step
    if slot.kept_for is not None:
        step = "Let that one run or cancel it, or give the group another `process_mode`."
        return f"{group}, which nobody holds: by its mode, {slot.mode}, it is kept for {slot.kept_for.words}.", step
    return f"{group}, which has just become free.", "It goes on by itself."
