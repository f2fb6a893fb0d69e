"""What becomes of a tick of a pipeline schedule: a pure decision from its policies and what earlier ticks do."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from domain.pipelines.status import COMPLETE, Status
from domain.projects.ref_names import TAGS, short_name
from domain.schedules.cron_calendars import Calendar

SOURCE: Final = "schedule"
"""`CI_PIPELINE_SOURCE` of what a schedule makes."""

PUNCTUAL: Final = timedelta(minutes=1)
"""A tick that is no later than this has not been missed, whatever the catch-up window: cron knows nothing shorter."""
CATCH_UP_WINDOW: Final = 3600
"""Seconds, unless the schedule says otherwise: a restart or an upgrade is caught up, a night is not."""
MAX_WINDOW: Final = 31 * 24 * 3600

RUNNING: Final = frozenset(Status) - COMPLETE - {Status.MANUAL}
"""States of a pipeline in which the next tick overlaps with it. One that waits for a person may wait for ever."""


class Overlap(StrEnum):
    """What a tick does while a pipeline of the same schedule still runs. The names are Temporal's."""

    ALLOW_ALL = "allow_all"
    """Starts beside it, as in GitLab."""
    SKIP = "skip"
    """Starts nothing."""
    BUFFER_ONE = "buffer_one"
    """Waits until it has ended; one tick at most waits."""
    CANCEL_OTHER = "cancel_other"
    """Has it canceled, and starts when it has ended."""
    TERMINATE_OTHER = "terminate_other"
    """Has it canceled, and starts at once."""


class CatchUp(StrEnum):
    """Which ticks of an outage are made up for, if they are within the window."""

    LAST = "last"
    """Only the latest one, as in GitLab."""
    ALL = "all"


class Outcome(StrEnum):
    """What became of a tick."""

    DUE = "due"
    """Its pipeline is to be made now."""
    WAITING = "waiting"
    """Its pipeline is to be made when those before have ended."""
    STARTED = "started"
    FAILED = "failed"
    SKIPPED = "skipped"
    MISSED = "missed"
    BY_HAND = "by_hand"
    """Somebody ran the schedule now, and there is a pipeline."""


OPEN: Final = frozenset({Outcome.DUE, Outcome.WAITING})
"""Outcomes that are not the last word."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How a schedule treats ticks that overlap or are late."""

    overlap: Overlap = Overlap.ALLOW_ALL
    catch_up: CatchUp = CatchUp.LAST
    window: timedelta = timedelta(seconds=CATCH_UP_WINDOW)


@dataclass(frozen=True, slots=True)
class Standing:
    """What earlier ticks do: whether a pipeline of theirs runs, is to be made, or waits to be made."""

    runs: bool = False
    to_make: bool = False
    waits: bool = False

    @property
    def is_free(self) -> bool:
        """Whether nothing overlaps with a new tick."""
        return not (self.runs or self.to_make or self.waits)


@dataclass(frozen=True, slots=True)
class Step:
    """What to write for a tick. `replaces`: earlier ticks without a pipeline are skipped. `cancels`: what runs is."""

    outcome: Outcome
    reason: str = ""
    replaces: bool = False
    cancels: bool = False


TOO_LATE: Final = "The server was away when this tick was due, and came back later than the catch-up window permits."
NOT_THE_LAST: Final = "The server was away when this tick was due; only the last one of an outage is caught up."
STILL_RUNS: Final = "The pipeline of an earlier tick still runs."
ONE_WAITS: Final = "The pipeline of an earlier tick still runs, and another tick already waits for its end."
WAITS: Final = "Waits until the pipeline of an earlier tick has ended."
REPLACED: Final = "A later tick took its place before its pipeline was made."
CANCELED: Final = "canceled by a newer tick of its schedule"
"""The reason that a pipeline shows."""

_WHILE_BUSY: Final[Mapping[Overlap, Step]] = {
    Overlap.ALLOW_ALL: Step(Outcome.DUE),
    Overlap.SKIP: Step(Outcome.SKIPPED, STILL_RUNS),
    Overlap.BUFFER_ONE: Step(Outcome.WAITING, WAITS),
    Overlap.CANCEL_OTHER: Step(Outcome.WAITING, WAITS, replaces=True, cancels=True),
    Overlap.TERMINATE_OTHER: Step(Outcome.DUE, replaces=True, cancels=True),
}


def decide(policy: Policy, due_at: datetime, now: datetime, standing: Standing, *, is_last: bool) -> Step:
    """What becomes of a tick. `is_last`: no later tick is due by now."""
    if now - due_at > max(policy.window, PUNCTUAL):
        return Step(Outcome.MISSED, TOO_LATE)
    if policy.catch_up is CatchUp.LAST and not is_last:
        return Step(Outcome.MISSED, NOT_THE_LAST)
    if standing.is_free:
        return Step(Outcome.DUE)
    if policy.overlap is Overlap.BUFFER_ONE and standing.waits:
        return Step(Outcome.SKIPPED, ONE_WAITS)
    return _WHILE_BUSY[policy.overlap]


def after(standing: Standing, step: Step) -> Standing:
    """What earlier ticks do once this step is taken."""
    kept = Standing(runs=standing.runs) if step.replaces else standing
    return Standing(
        runs=kept.runs,
        to_make=kept.to_make or step.outcome is Outcome.DUE,
        waits=kept.waits or step.outcome is Outcome.WAITING,
    )


def short_ref(ref: str) -> tuple[str, bool]:
    """Short name of `refs/heads/...` or `refs/tags/...`, and whether it is a tag."""
    return short_name(ref), ref.startswith(TAGS)


@dataclass(frozen=True, slots=True)
class ScheduleFacts:
    """A schedule as Temporal is to have it. `zone` is a name of the IANA database, `summary` one line for people."""

    schedule_id: int
    revision: int
    calendars: tuple[Calendar, ...]
    zone: str
    active: bool
    window: timedelta
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleInput:
    """The only argument of workflow `ScheduledPipeline`. `revision` is that of the schedule which started it."""

    schedule_id: int
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick as Temporal has it: `due_at` is when it should have been."""

    schedule_id: int
    revision: int
    due_at: datetime


@dataclass(frozen=True, slots=True)
class TickResult:
    """What became of a tick, for the Temporal Web UI. `ignored` is one of a schedule that is gone or was changed."""

    outcome: str
    reason: str = ""
    pipeline_id: int | None = None
    is_over: bool = True


IGNORED: Final = "ignored"
