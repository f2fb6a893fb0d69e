"""Durations in words."""

import pytest

from domain.config.reading.durations import parse_duration, parse_expiry
from domain.errors import Invalid


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("42s", 42),
        ("1h 30m", 5400),
        ("3 mins 4 sec", 184),
        ("2 hrs 20 min", 8400),
        ("2h20min", 8400),
        ("10 minutes", 600),
        ("1 day", 86400),
        ("1 week, 2 days and 3 hours", 788400),
        ("6 mos 1 day", 15638400),
        ("3 weeks and 2 days", 1987200),
        ("1.5 hours", 5400),
        ("one week", 604800),
        ("1 Year", 31557600),
        ("1 hour 30", 3630),
    ],
)
def test_read(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "never", "1 fortnight", "-5 minutes", "0", "0 seconds", "10 5", "5 5 m"])
def test_refused(text: str) -> None:
    with pytest.raises(Invalid, match="is not a duration"):
        parse_duration(text)


def test_a_very_long_text_is_not_read() -> None:
    with pytest.raises(Invalid):
        parse_duration("1 s " * 100_000)


def test_expiry_may_be_never() -> None:
    assert parse_expiry("never") is None
    assert parse_expiry(" Never ") is None
    assert parse_expiry("1 day") == 86400
