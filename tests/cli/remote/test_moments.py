"""Times as people write and read them."""

from datetime import UTC, datetime, timedelta

import pytest

from cli.remote.moments import ago, duration, moment, span
from domain.errors import Invalid

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2 h", 7200), ("1d", 86400), ("1w", 604800)]
)
def test_spans(text: str, seconds: float) -> None:
    assert span("--timeout", text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5m", "5y", "9" * 30])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(Invalid, match="--timeout"):
        span("--timeout", text)


def test_moments() -> None:
    assert moment("--since", "2h", NOW) == NOW - timedelta(hours=2)
    assert moment("--since", "2026-01-01", NOW) == datetime(2026, 1, 1, tzinfo=UTC)
    assert moment("--since", "2026-01-01T01:00:00+02:00", NOW) == datetime(2025, 12, 31, 23, tzinfo=UTC)
    for wrong in ("yesterday", "999999999w"):
        with pytest.raises(Invalid, match="--since"):
            moment("--since", wrong, NOW)


def test_what_is_shown() -> None:
    assert ago("2026-01-31T11:57:00.000Z", NOW) == "3 min ago"
    assert ago("2026-01-31T14:00:00Z", NOW) == "in 2 h"
    assert ago("2026-01-01T12:00:00Z", NOW) == "30 d ago"
    assert (ago(None, NOW), duration(None)) == ("", "")
    assert [duration(seconds) for seconds in (4.21, 185, 7620)] == ["4.2 s", "3 min 05 s", "2 h 07 min"]
