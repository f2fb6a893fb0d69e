"""Why a job does not go on, and how a pipeline stands: for people who look, computed from what decisions see.

`domain.pipelines.transitions` decides; this module only says in words what it found. Both rest on the same composite
and the same table of what each `when` accepts, and a property test holds them together.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from domain.config.plan import When
from domain.errors import NotFound
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.shown_status import shown_job
from domain.pipelines.status import COMPLETE, Folded, Status, composite, fold
from domain.pipelines.transitions import ACCEPTED

NAMED: Final = 3
"""A text names so many other jobs and counts the rest."""


class Cause(StrEnum):
    """What a job waits for."""

    JOBS = "jobs"
    PERSON = "person"
    TIME = "time"
    SLOT = "slot"
    RUNNER = "runner"
    DOWNSTREAM = "downstream"
    TURN = "turn"  # nothing but the pipeline's own next step
    ROOM = "room"  # too many jobs of the pipeline are open
    RULED_OUT = "ruled out"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Holdup:
    """Why a job is as it is. `jobs` are the names of those that it waits for, or that have ruled it out.

    `id` is None for an attempt whose row is still to be made.
    """

    id: int | None
    name: str
    status: Status
    cause: Cause
    text: str
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StageOverview:
    """A stage, its composite status and how many jobs it has."""

    name: str
    status: Status
    jobs: int


@dataclass(frozen=True, slots=True)
class Overview:
    """How a pipeline stands. `jobs` counts by status; `rooms` are the waiting rooms of open jobs, with their counts."""

    status: Status
    jobs: Mapping[Status, int]
    stages: tuple[StageOverview, ...]
    open: tuple[Job, ...]
    rooms: Mapping[str, int]


def overview(pipeline: Pipeline) -> Overview:
    """How the pipeline stands now, in the order of its configuration."""
    in_stage: list[list[Job]] = [[] for _ in pipeline.stages]
    for job in pipeline.jobs:
        in_stage[job.stage].append(job)
    opened = tuple(job for job in pipeline.jobs if job.is_open)
    return Overview(
        status=pipeline.status,
        jobs=Counter(job.status for job in pipeline.jobs),
        stages=tuple(
            StageOverview(name, composite((job.status, job.allow_failure) for job in jobs), len(jobs))
            for name, jobs in zip(pipeline.stages, in_stage, strict=True)
        ),
        open=opened,
        rooms=Counter(job.room for job in opened if job.room),
    )


def find_job(pipeline: Pipeline, wanted: str | int) -> Job:
    """A job by its id, or by a text: its name, else its id. Raises `NotFound`."""
    job = pipeline.by_name.get(wanted) if isinstance(wanted, str) else pipeline.job(wanted)
    if job is None and isinstance(wanted, str) and wanted.isdecimal():
        job = pipeline.job(int(wanted))
    if job is None:
        raise NotFound(f"Pipeline {pipeline.id} has no job {str(wanted)[:80]!r}, or not as the latest attempt.")
    return job


def unsettled(pipeline: Pipeline) -> tuple[Job, ...]:
    """The jobs about which people ask: all that have not passed."""
    return tuple(job for job in pipeline.jobs if job.status is not Status.SUCCESS)


def explain(pipeline: Pipeline, jobs: Iterable[Job], now: datetime) -> tuple[Holdup, ...]:
    """Why these jobs of the pipeline do not go on at `now`, in their order."""
    before = _Before(pipeline)
    return tuple(_BY_STATUS[job.status](before, job, now) for job in jobs)


class _Before:
    """What comes before a job: the jobs that it looks at, and their composite. Known once for each stage."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._stages: dict[int, tuple[Status, tuple[Job, ...]]] = {}

    def prior(self, job: Job) -> tuple[Status, tuple[Job, ...]]:
        """The composite, and those jobs that are not a plain success."""
        if job.needs is not None:
            return _folded(self._pipeline.needed_by(job), needs=True)
        if job.stage not in self._stages:
            earlier = tuple(other for other in self._pipeline.jobs if other.stage < job.stage)
            self._stages[job.stage] = _folded(earlier, needs=False)
        return self._stages[job.stage]


def _folded(jobs: tuple[Job, ...], *, needs: bool) -> tuple[Status, tuple[Job, ...]]:
    status = composite(((job.status, job.allow_failure) for job in jobs), needs=needs)
    return status, tuple(job for job in jobs if fold(job.status, job.allow_failure) != Status.SUCCESS)


def _explained(job: Job, cause: Cause, text: str, jobs: Iterable[Job] = ()) -> Holdup:
    row = job.id if job.has_row else None
    return Holdup(row, job.name, job.status, cause, text, tuple(other.name for other in jobs))


def _created(before: _Before, job: Job, _now: datetime) -> Holdup:
    if not job.has_row:
        return _explained(job, Cause.TURN, "its next attempt is being made")
    prior, jobs = before.prior(job)
    if prior in COMPLETE:
        if prior in ACCEPTED[job.when][job.needs is not None]:
            return _explained(job, Cause.ROOM, "its turn has come; it starts when the pipeline has fewer open jobs")
        return _explained(job, Cause.TURN, "is about to be skipped")
    waits = [other for other in jobs if other.status not in COMPLETE and _folds(other) != Folded.IGNORED]
    return _explained(job, Cause.JOBS, f"waits for {_listed(f'{one.name} ({_seen(one)})' for one in waits)}", waits)


def _skipped(before: _Before, job: Job, _now: datetime) -> Holdup:
    prior, jobs = before.prior(job)
    by_needs = job.needs is not None
    if prior not in COMPLETE or prior in ACCEPTED[job.when][by_needs]:
        return _explained(job, Cause.RULED_OUT, "was skipped; what came before it has changed since")
    if job.when is When.ON_FAILURE and not any(_folds(other) == Status.FAILED for other in jobs):
        return _explained(job, Cause.RULED_OUT, "was skipped because nothing before it failed")
    passed = frozenset() if by_needs else _ONLY_BY_NEEDS
    culprits = [other for other in jobs if _folds(other) in _RULE_OUT[job.when] - passed]
    return _explained(job, Cause.RULED_OUT, f"was skipped because {_what_became_of(culprits)}", culprits)


def _scheduled(_before: _Before, job: Job, now: datetime) -> Holdup:
    if job.due_at is None or job.due_at <= now:
        return _explained(job, Cause.ROOM, "is due; it starts when the pipeline has fewer open jobs")
    return _explained(job, Cause.TIME, f"is due at {job.due_at.isoformat(timespec='seconds')}")


def _waiting(_before: _Before, job: Job, _now: datetime) -> Holdup:
    if job.slot:
        return _explained(job, Cause.ROOM, "has the slot of its resource group; it starts when there is room")
    return _explained(job, Cause.SLOT, "waits for the slot of its resource group")


def _by(cause: Cause, text: str, bridge_text: str) -> "_Explain":
    """Explains a status that needs no look at other jobs; a bridge has a text of its own."""

    def explain_one(_before: _Before, job: Job, _now: datetime) -> Holdup:
        return _explained(job, Cause.DOWNSTREAM, bridge_text) if job.bridge else _explained(job, cause, text)

    return explain_one


def _manual(_before: _Before, job: Job, _now: datetime) -> Holdup:
    if job.follows:
        return _explained(job, Cause.DOWNSTREAM, "its downstream pipeline waits for a person")
    return _explained(job, Cause.PERSON, "waits for a person: play it")


def _ended(_before: _Before, job: Job, _now: datetime) -> Holdup:
    return _explained(job, Cause.ENDED, "has ended")


_Explain = Callable[[_Before, Job, datetime], Holdup]
_BY_STATUS: Final[Mapping[Status, _Explain]] = {
    Status.CREATED: _created,
    Status.WAITING_FOR_RESOURCE: _waiting,
    Status.PREPARING: _by(Cause.TURN, "is being prepared", "is being prepared"),
    Status.PENDING: _by(
        Cause.RUNNER, "waits for a runner, or one has it by now", "waits until its downstream pipeline is made"
    ),
    Status.RUNNING: _by(Cause.RUNNER, "a runner has it", "waits for its downstream pipeline"),
    Status.CANCELING: _by(Cause.RUNNER, "its runner was asked to stop it", "is being canceled"),
    Status.SUCCESS: _ended,
    Status.FAILED: _ended,
    Status.CANCELED: _ended,
    Status.SKIPPED: _skipped,
    Status.MANUAL: _manual,
    Status.SCHEDULED: _scheduled,
}

_ONLY_BY_NEEDS: Final = frozenset({str(Status.SKIPPED), str(Folded.IGNORED)})
"""A skipped or optional job rules out what needs it, but not a later stage."""
_WENT_WRONG: Final = frozenset({str(Status.FAILED), str(Status.CANCELED)}) | _ONLY_BY_NEEDS
_RULE_OUT: Final[Mapping[When, frozenset[str]]] = {
    When.ON_SUCCESS: _WENT_WRONG,
    When.MANUAL: _WENT_WRONG,
    When.DELAYED: _WENT_WRONG,
    When.ON_FAILURE: _ONLY_BY_NEEDS,
    When.ALWAYS: frozenset({str(Status.CANCELED)}),
}
"""For each `when`: what a job before it must not be (the complement of `domain.pipelines.transitions.ACCEPTED`)."""

_BECAME: Final[Mapping[Status, str]] = {
    Status.FAILED: "failed",
    Status.CANCELED: "canceled",
    Status.SKIPPED: "skipped",
    Status.MANUAL: "not played",
}


def _seen(job: Job) -> str:
    """The status in words. Who decides is not told when a runner takes a job."""
    return "pending or running" if job.status is Status.PENDING else shown_job(job).text.lower()


def _folds(job: Job) -> str:
    return fold(job.status, job.allow_failure)


def _what_became_of(jobs: Iterable[Job]) -> str:
    """`test failed and lint, docs were skipped`."""
    groups: dict[Status, list[str]] = {}
    for job in jobs:
        groups.setdefault(job.status, []).append(job.name)
    parts = []
    for status, names in groups.items():
        verb = "" if status is Status.FAILED else "was " if len(names) == 1 else "were "
        parts.append(f"{_listed(names)} {verb}{_BECAME[status]}")
    return " and ".join(parts)


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = len(every) - NAMED
    return ", ".join(every[:NAMED]) + (f" and {more} more" if more > 0 else "")
