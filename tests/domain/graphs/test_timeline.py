"""Bars of a timeline."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.graphs.timeline import MAX_MARKS, Segment, Times, axis, segments, took

ORIGIN = datetime(2026, 1, 2, tzinfo=UTC)


def at(seconds: float | None) -> datetime | None:
    """A moment so long after the origin."""
    return None if seconds is None else ORIGIN + timedelta(seconds=seconds)


NOW = ORIGIN + timedelta(seconds=100)


@pytest.mark.parametrize(
    ("queued", "started", "script", "finished", "expected"),
    [
        (None, None, None, None, ()),
        (10, None, None, None, (("queue", 10, 100),)),
        (10, 15, None, None, (("queue", 10, 15), ("run", 15, 100))),
        (10, 15, None, 40, (("queue", 10, 15), ("run", 15, 40))),
        (10, 15, 18, 40, (("queue", 10, 15), ("prepare", 15, 18), ("run", 18, 40))),
        (10, None, None, 30, (("queue", 10, 30),)),
        (None, 15, None, 40, (("run", 15, 40),)),
        (15, 15, None, 15, (("run", 15, 15),)),
    ],
)
def test_the_pieces_of_a_bar(
    queued: float | None,
    started: float | None,
    script: float | None,
    finished: float | None,
    expected: tuple[tuple[str, float, float], ...],
) -> None:
    times = Times(at(queued), at(started), at(finished), at(script))
    assert segments(times, ORIGIN, NOW) == tuple(Segment(*one) for one in expected)


@given(st.lists(st.none() | st.integers(0, 90), min_size=4, max_size=4))
def test_pieces_follow_each_other_whatever_clocks_say(moments: list[int | None]) -> None:
    times = Times(*map(at, moments))
    pieces = segments(times, ORIGIN, NOW)
    for piece in pieces:
        assert 0 <= piece.begin <= piece.end
    for earlier, later in pairwise(pieces):
        assert earlier.end <= later.begin
    assert took(times, NOW) >= 0


@given(st.floats(0, 10_000_000))
def test_an_axis_has_few_marks_and_room_for_all(seconds: float) -> None:
    end = ORIGIN + timedelta(seconds=seconds)
    found = axis([Times(ORIGIN, ORIGIN, end)], ORIGIN, NOW)
    assert found.seconds >= seconds - 1e-3
    assert 1 <= len(found.marks) <= MAX_MARKS + 1
    assert found.marks[-1] <= found.seconds


def test_an_axis_of_nothing_is_there() -> None:
    assert axis([], ORIGIN, NOW).marks == (0.0, 1.0)
