"""Which line of a log is that of a moment."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.logs.moments import MAX_SECONDS, first_stamp, line_of_mark, line_since, stamp_of
from domain.logs.sections import Mark

BEGUN = 1_700_000_000


def stamped(seconds: float, text: str, more: str = " ") -> bytes:
    """A line as a runner writes it."""
    moment = datetime.fromtimestamp(BEGUN + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return f"{moment} 00O{more}{text}\n".encode()


LOG = stamped(1.5, "one") + stamped(3, "tw") + stamped(9, "o", "+") + b"of the server\n" + stamped(4.25, "four")


@pytest.mark.parametrize(("seconds", "line"), [(-5, 7), (1, 7), (2, 8), (3, 8), (4, 10), (5, None)])
def test_the_first_line_of_that_moment_or_later(seconds: int, line: int | None) -> None:
    assert line_since(LOG, 7, stamp_of(BEGUN + seconds)) == line


def test_lines_without_a_stamp_have_no_time() -> None:
    assert first_stamp(b"x\n" + stamped(9, "o", "+") + LOG) == stamped(1.5, "")[:27]
    assert first_stamp(b"x\n 2026-01-02T03:04:05.123456Z 00O no\n") is None
    assert line_since(b"x\ny\n", 1, stamp_of(0)) is None


MARKS = [
    Mark(2, True, 10, "a"),
    Mark(20, False, 15, "a"),
    Mark(20, True, 15, "b"),
    Mark(30, True, 3, "of a script that lies"),
    Mark(90, False, 60, "b"),
]


@pytest.mark.parametrize(
    ("seconds", "line"), [(0, 1), (9, 30), (10, 2), (14, 2), (15, 20), (59, 20), (60, 90), (99, 90)]
)
def test_the_latest_mark_until_that_moment(seconds: int, line: int) -> None:
    assert line_of_mark(MARKS, seconds) == line


def test_no_marks_say_nothing() -> None:
    assert line_of_mark([], 5) is None


@given(st.integers(0, MAX_SECONDS), st.integers(0, MAX_SECONDS))
def test_stamps_compare_like_their_moments(one: int, other: int) -> None:
    assert (stamp_of(one) < stamp_of(other)) == (one < other)
