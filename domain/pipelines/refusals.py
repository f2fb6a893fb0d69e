"""Why an operation on a job is refused, in words that say what is missing and what may be done instead.

One text for all who ask: the REST API, the pages, the command line, and updates in Temporal.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from domain.config.plan import When
from domain.pipelines.explanation import Cause, Holdup, explain
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, Status

RULES: Final[Mapping[str, str]] = {
    "play": "only a manual, scheduled or finished job can be played",
    "start": "only a manual or delayed job can be played",
    "retry": "only a finished job can be retried",
    "cancel": "there is nothing to cancel",
    "unschedule": "only a scheduled job can be unscheduled",
}
"""What an operation asks of the job, by the verb that people know it by."""

_INSTEAD: Final[Mapping[Status, str]] = {
    Status.CREATED: "You can cancel it.",
    Status.WAITING_FOR_RESOURCE: "You can cancel it.",
    Status.PREPARING: "You can cancel it.",
    Status.PENDING: "You can cancel it.",
    Status.RUNNING: "You can cancel it.",
    Status.CANCELING: "You can retry it.",
    Status.SUCCESS: "You can retry it.",
    Status.FAILED: "You can retry it.",
    Status.CANCELED: "You can retry it.",
    Status.SKIPPED: "Retry or play what ruled it out, and it gets another chance.",
    Status.MANUAL: "You can play or cancel it.",
    Status.SCHEDULED: "You can play it now, unschedule it (then it waits for a person) or cancel it.",
}
_LATER: Final = "You can play it when they have ended, or cancel it now."
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)
"""Before every time at which a job is due: its own is told."""


def refusal(pipeline: Pipeline, job: Job, verb: str) -> str:
    """Why `verb`, one of `RULES`, is refused for a job: its state, what it waits for, and what can be done instead."""
    parts = [f"Job {job.id} is {job.status}; {RULES[verb]}."]
    if job.status not in COMPLETE - {Status.SKIPPED}:
        parts.append(f"{standing(pipeline, job)}.")
    return " ".join([*parts, _LATER if _is_played_later(job) else _INSTEAD[job.status]])


def standing(pipeline: Pipeline, job: Job) -> str:
    """What a job waits for, as a sentence without its full stop: the jobs that are missing by stages, or by needs."""
    (found,) = explain(pipeline, [job], _NO_TIME)
    return standing_of(pipeline, job, found)


def standing_of(pipeline: Pipeline, job: Job, found: Holdup) -> str:
    """The same where it is known already what holds the job up."""
    if found.cause is Cause.JOBS:
        return f"It {found.text.replace('waits for', f'waits for {_places(pipeline, job, found)}:', 1)}"
    return found.text[0].upper() + found.text[1:] if found.text.startswith(("a ", "its ")) else f"It {found.text}"


def _is_played_later(job: Job) -> bool:
    return job.status is Status.CREATED and job.when is When.MANUAL


def _places(pipeline: Pipeline, job: Job, found: Holdup) -> str:
    """Where the missing jobs stand."""
    if job.needs is not None:
        return "jobs that it needs"
    missing = frozenset(found.jobs)
    places = sorted({other.stage for other in pipeline.jobs if other.name in missing})
    names = ", ".join(pipeline.stages[place] for place in places)
    return f"stage{'s' if len(places) > 1 else ''} {names}"
