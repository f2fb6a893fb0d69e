"""What people are told of a job: why it is as it is, the facts behind that, and what to do next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Reason(StrEnum):
    """What kind of thing keeps a job as it is."""

    JOBS = "jobs"  # waits for other jobs
    PERSON = "person"
    TIME = "time"
    RESOURCE_GROUP = "resource_group"
    RUNNER = "runner"  # waits for one that fits and is busy
    STUCK = "stuck"  # no runner can take it
    DOWNSTREAM = "downstream"
    PIPELINE = "pipeline"  # nothing but its own next step
    RUNNING = "running"
    SILENT = "silent"  # it runs, and its runner is not heard of
    RULED_OUT = "ruled_out"  # skipped
    ABSENT = "absent"  # not in the pipeline
    FAILED = "failed"
    CANCELED = "canceled"
    SUCCEEDED = "succeeded"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job is as it is: `text` is one or two sentences, `facts` are what they rest on, `next_step` what to do.

    `facts` hold only what JSON holds; which there are depends on the reason (docs/why.md). `next_step` is
    empty where there is nothing to do.
    """

    reason: Reason
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    next_step: str = ""


MAX_NAMED: Final = 3
"""A sentence names so many jobs and counts the rest."""


def about(seconds: float) -> str:
    """A span as people say it, rounded up, so that it promises no more than is known."""
    if seconds <= 10:
        return "10 s"
    if seconds <= 110:
        return f"{_up(seconds, 10)} s"
    minutes = _up(seconds / 60, 1)
    if minutes < 90:
        return f"{minutes} min"
    return f"{_up(seconds / 3600, 1)} h"


def exactly(seconds: float) -> str:
    """A span that somebody has set, to the second: `5 s`, `20 min`, `1 h 30 min`."""
    if seconds < 120:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60) if minutes > 90 else (0, minutes)
    parts = ((hours, "h"), (minutes, "min"), (rest, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def _up(value: float, step: int) -> int:
    return -int(-value // step) * step


def counted(number: int, one: str, many: str = "") -> str:
    """`1 job`, `2 jobs`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def sentence(text: str) -> str:
    """A text with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}" if text else ""
