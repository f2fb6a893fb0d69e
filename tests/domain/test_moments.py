"""Points in time and spans are written as GitLab writes them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest

from domain.moments import duration, moment, queued, span

NOON = datetime(2026, 1, 2, 12, 0, 0, 1_999, UTC)
LATER = NOON + timedelta(seconds=90.0004)


@dataclass(frozen=True)
class Times:
    """Of a job."""

    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


def test_moments_are_utc_with_milliseconds() -> None:
    assert moment(None) is None
    assert moment(NOON) == "2026-01-02T12:00:00.001Z"
    assert moment(NOON.astimezone(timezone(timedelta(hours=-5)))) == "2026-01-02T12:00:00.001Z"


@pytest.mark.parametrize(
    ("begin", "end", "seconds"), [(None, NOON, None), (NOON, None, None), (NOON, LATER, 90.0), (LATER, NOON, 0.0)]
)
def test_spans_are_never_negative(begin: datetime | None, end: datetime | None, seconds: float | None) -> None:
    assert span(begin, end) == seconds


def test_what_goes_on_is_measured_until_now() -> None:
    waiting = Times(NOON, None, None)
    assert (duration(waiting, LATER), queued(waiting, LATER)) == (None, 90.0)
    running = Times(NOON, LATER, None)
    assert (duration(running, LATER), queued(running, LATER + timedelta(hours=1))) == (0.0, 90.0)
    canceled = Times(NOON, None, LATER)
    assert (duration(canceled, LATER), queued(canceled, LATER + timedelta(hours=1))) == (None, 90.0)
