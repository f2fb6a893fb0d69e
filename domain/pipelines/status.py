"""States of jobs, stages and pipelines: which may follow which, and how many fold into one.

Source: docs/reference/pipelines.md, "Composite status".
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from domain.errors import ForbiddenTransition


class Status(StrEnum):
    """State of a job, a stage or a pipeline; stages and pipelines use only some of them."""

    CREATED = "created"  # waits for what comes before it
    WAITING_FOR_RESOURCE = "waiting_for_resource"  # waits for the slot of its resource group
    PREPARING = "preparing"  # prerequisites are being met
    PENDING = "pending"  # any fitting runner may take it
    RUNNING = "running"  # a runner holds it
    CANCELING = "canceling"  # its runner was asked to stop it
    SUCCESS = "success"
    FAILED = "failed"
    CANCELED = "canceled"
    SKIPPED = "skipped"  # what came before it ruled it out
    MANUAL = "manual"  # waits for a person
    SCHEDULED = "scheduled"  # waits for its time


COMPLETE: Final = frozenset({Status.SUCCESS, Status.FAILED, Status.CANCELED, Status.SKIPPED})
HELD_BY_RUNNER: Final = frozenset({Status.RUNNING, Status.CANCELING})
OPEN: Final = HELD_BY_RUNNER | {Status.PENDING}
"""States in which an `await_job` activity waits for the job."""
LIVE: Final = frozenset(Status) - COMPLETE

JOB_TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.CREATED: frozenset(
        {Status.PENDING, Status.MANUAL, Status.SCHEDULED, Status.SKIPPED, Status.CANCELED, Status.PREPARING}
        | {Status.WAITING_FOR_RESOURCE}
    ),
    Status.WAITING_FOR_RESOURCE: frozenset({Status.PREPARING, Status.PENDING, Status.FAILED, Status.CANCELED}),
    Status.PREPARING: frozenset({Status.PENDING, Status.FAILED, Status.CANCELED}),
    Status.PENDING: frozenset({Status.RUNNING, Status.FAILED, Status.CANCELED, Status.SKIPPED}),
    Status.RUNNING: frozenset(
        {Status.PENDING, Status.SUCCESS, Status.FAILED, Status.CANCELING, Status.CANCELED}  # pending: not taken up
    ),
    Status.CANCELING: frozenset({Status.CANCELED}),
    Status.SUCCESS: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELED: frozenset(),
    Status.SKIPPED: frozenset({Status.CREATED}),
    Status.MANUAL: frozenset({Status.PENDING, Status.WAITING_FOR_RESOURCE, Status.CANCELED, Status.FAILED}),
    Status.SCHEDULED: frozenset({Status.PENDING, Status.WAITING_FOR_RESOURCE, Status.MANUAL, Status.CANCELED}),
}
"""The one transition table: every status write in SQL is guarded by it. A retry is a new row, not a transition."""


MIRROR_TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.RUNNING: frozenset({Status.MANUAL, Status.SKIPPED}),
    Status.MANUAL: frozenset({Status.RUNNING, Status.SUCCESS, Status.SKIPPED}),
}
"""What else a bridge may do whose downstream pipeline is there: it takes over that one's status."""


def mirrored_from(to: Status) -> frozenset[Status]:
    """Every state that `to` may follow in a bridge with a downstream pipeline only."""
    return frozenset(status for status, following in MIRROR_TRANSITIONS.items() if to in following)


def sources_of(to: Status) -> frozenset[Status]:
    """Every state that `to` may follow."""
    return frozenset(status for status, following in JOB_TRANSITIONS.items() if to in following)


def check_transition(job_id: int, now: Status, to: Status) -> None:
    """Raise `ForbiddenTransition` if `to` may not follow `now`."""
    if to not in JOB_TRANSITIONS[now]:
        raise ForbiddenTransition(f"Job {job_id} is {now}; it cannot become {to}.")


class Folded(StrEnum):
    """Two more values that only the composite knows."""

    WARNING = "warning"  # failed or canceled, and allowed to
    IGNORED = "ignored"  # manual, and nobody has to wait for it


ALLOWED_TO_FAIL: Final = frozenset({Status.FAILED, Status.CANCELED})
"""How a job ends that is passed over where it is allowed to fail."""
_QUIET: Final = frozenset({Folded.WARNING, Folded.IGNORED})

_ONLY: Final[tuple[tuple[frozenset[str], Status], ...]] = (
    (frozenset({Status.SKIPPED, Folded.IGNORED}), Status.SKIPPED),
    (frozenset({Status.SUCCESS, Status.SKIPPED}) | _QUIET, Status.SUCCESS),
    (frozenset({Status.CREATED}) | _QUIET, Status.CREATED),
    (frozenset({Status.PREPARING}) | _QUIET, Status.PREPARING),
    (frozenset({Status.CANCELED, Status.SUCCESS, Status.SKIPPED}) | _QUIET, Status.CANCELED),
    (frozenset({Status.PENDING, Status.CREATED, Status.SKIPPED}) | _QUIET, Status.PENDING),
)
"""Rows 2 to 7: the result when nothing outside the set occurs."""

_ANY: Final[tuple[tuple[frozenset[str], Status], ...]] = (
    (frozenset({Status.RUNNING, Status.PENDING}), Status.RUNNING),
    (frozenset({Status.WAITING_FOR_RESOURCE}), Status.WAITING_FOR_RESOURCE),
    (frozenset({Status.MANUAL}), Status.MANUAL),
    (frozenset({Status.SCHEDULED}), Status.SCHEDULED),
    (frozenset({Status.PREPARING}), Status.PREPARING),
    (frozenset({Status.CREATED}), Status.RUNNING),
    (frozenset({Status.CANCELING}), Status.CANCELING),
)
"""Rows 8 to 11: the result when one of the set occurs."""


def fold(status: Status, allow_failure: bool) -> str:
    """What a job counts as in a composite."""
    if allow_failure and status in ALLOWED_TO_FAIL:
        return Folded.WARNING
    if allow_failure and status is Status.MANUAL:
        return Folded.IGNORED
    return status


def composite(jobs: Iterable[tuple[Status, bool]], *, needs: bool = False) -> Status:
    """Fold (status, allow_failure) of the latest jobs into one status; the first row of the table that fits wins.

    `needs` is the mode of "all jobs that this one needs", where a skipped one rules the dependant out.
    """
    kinds = {fold(status, allowed) for status, allowed in jobs}
    if not kinds:
        return Status.SUCCESS
    if needs and kinds & {Status.SKIPPED, Folded.IGNORED}:
        return Status.SKIPPED
    for permitted, result in _ONLY:
        if kinds <= permitted:
            return result
    for wanted, result in _ANY:
        if kinds & wanted:
            return result
    return Status.FAILED


def settled(previous: Status, folded: Status) -> Status:
    """What a pipeline becomes when its jobs fold into `folded`.

    `created` keeps the last status; a pipeline that ran once goes back to running, never to pending
    (docs/reference/pipelines.md, "Composite status").
    """
    if folded is Status.CREATED:
        return previous
    if folded is Status.PENDING and previous in {Status.RUNNING, *COMPLETE, Status.CANCELING} - {Status.SKIPPED}:
        return Status.RUNNING
    return folded
