"""Points in time and spans, as GitLab writes them."""

from datetime import UTC, datetime
from typing import Protocol, overload


@overload
def moment(value: datetime) -> str: ...
@overload
def moment(value: datetime | None) -> str | None: ...
def moment(value: datetime | None) -> str | None:
    """ISO 8601 in UTC with milliseconds and `Z`."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(begin: datetime | None, end: datetime | None) -> float | None:
    """Seconds between two moments; None while there is no beginning."""
    if begin is None or end is None:
        return None
    return round(max(0.0, (end - begin).total_seconds()), 3)


class Ran(Protocol):
    """When a job or pipeline ran."""

    @property
    def started_at(self) -> datetime | None:
        """None before it has begun."""

    @property
    def finished_at(self) -> datetime | None:
        """None before it has ended."""


class Waited(Ran, Protocol):
    """When a job waited for a runner, too."""

    @property
    def queued_at(self) -> datetime | None:
        """None before it was pending."""


def duration(row: Ran, now: datetime) -> float | None:
    """How long a job or pipeline has run, in seconds."""
    return span(row.started_at, row.finished_at or now)


def queued(row: Waited, now: datetime) -> float | None:
    """How long a job waited for a runner, in seconds."""
    return span(row.queued_at, row.started_at or row.finished_at or now)
