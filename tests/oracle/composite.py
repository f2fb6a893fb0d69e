"""The status of several jobs together, as GitLab puts it together, and what stage and pipeline make of it."""

from collections.abc import Iterable
from functools import cache
from typing import Final

COMPLETE: Final = frozenset({"success", "failed", "canceled", "skipped"})
WARNING: Final = "warning"
IGNORED: Final = "ignored"

_HARMLESS: Final = frozenset({WARNING, IGNORED})
_ONLY: Final = (
    (frozenset({"skipped", IGNORED}), "skipped"),
    (frozenset({"success", "skipped"}) | _HARMLESS, "success"),
    (frozenset({"created"}) | _HARMLESS, "created"),
    (frozenset({"preparing"}) | _HARMLESS, "preparing"),
    (frozenset({"canceled", "success", "skipped"}) | _HARMLESS, "canceled"),
    (frozenset({"pending", "created", "skipped"}) | _HARMLESS, "pending"),
)
_ANY: Final = (
    (frozenset({"running", "pending"}), "running"),
    *(
        (frozenset({one}), one)
        for one in ("waiting_for_resource", "waiting_for_callback", "manual", "scheduled", "preparing")
    ),
    (frozenset({"created"}), "running"),
    (frozenset({"canceling"}), "canceling"),
)


def seen_as(status: str, allow_failure: bool) -> str:
    """What a job counts as among others."""
    if allow_failure and status in {"failed", "canceled"}:
        return WARNING
    if allow_failure and status == "manual":
        return IGNORED
    return status


def composite(jobs: Iterable[tuple[str, bool]], needs: bool = False) -> str:
    """The status of jobs of (status, allow_failure) together; `needs`: as the needs of a job that has `needs`."""
    return _composite(frozenset(jobs), needs)


@cache
def _composite(jobs: frozenset[tuple[str, bool]], needs: bool) -> str:
    found = {seen_as(*job) for job in jobs}
    if not found:
        return "success"
    if needs and found & {"skipped", IGNORED}:
        return "skipped"
    for allowed, result in _ONLY:
        if found <= allowed:
            return result
    for wanted, result in _ANY:
        if found & wanted:
            return result
    return "failed"


def stage_status(before: str, now: str) -> str:
    """What a stage reads when its jobs are `now` together: it ignores `created`."""
    return before if now == "created" else now


def pipeline_status(before: str, now: str) -> str:
    """What a pipeline reads: it ignores `created`, and never goes from running or finished to pending."""
    if now == "created":
        return before
    if now == "pending" and before in {"running", "success", "failed", "canceled", "canceling"}:
        return "running"
    return now
