"""The union of periods."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pipelines.running_time import Period, running_time

START = datetime(2026, 1, 1, tzinfo=UTC)


def periods(*given: tuple[int, int]) -> list[Period]:
    return [(START + timedelta(seconds=begin), START + timedelta(seconds=end)) for begin, end in given]


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ((), 0),
        (((1, 3), (2, 4), (6, 7)), 4),
        (((0, 60), (36_000, 36_030)), 90),  # a person was waited for
        (((0, 10), (2, 3), (5, 12)), 12),
        (((5, 5), (9, 3)), 0),  # clocks that went back
    ],
)
def test_seconds_in_which_a_job_ran(given: tuple[tuple[int, int], ...], seconds: int) -> None:
    assert running_time(periods(*given)) == seconds
    assert running_time(periods(*given[::-1])) == seconds


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))))
def test_it_counts_each_second_once(given: list[tuple[int, int]]) -> None:
    assert running_time(periods(*given)) == len({second for begin, end in given for second in range(begin, end)})
