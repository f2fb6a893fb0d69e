"""What the waits of others let a job expect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.runners.waits import MIN_WAITS, Waits, expected, measured, percentile

SECONDS = st.floats(0, 1e5, allow_nan=False)


def test_percentiles_are_values_that_occurred() -> None:
    assert measured([]) is None
    assert measured([7.0]) == Waits(1, 7.0, 7.0)
    assert measured([float(number) for number in range(1, 101)]) == Waits(100, 50.0, 95.0)
    assert measured([3.0, 1.0, 2.0]) == Waits(3, 2.0, 3.0)


@pytest.mark.parametrize(
    ("waits", "waited", "says"),
    [
        ([], 0.0, None),
        ([10.0] * (MIN_WAITS - 1), 0.0, None),
        ([10.0] * MIN_WAITS, 0.0, Waits(5, 10.0, 10.0)),
        ([10.0] * MIN_WAITS, 4.0, Waits(5, 6.0, 6.0)),
        ([10.0] * MIN_WAITS, 10.0, None),
        ([0.0] * 90 + [100.0] * 10, 1.0, Waits(10, 99.0, 99.0)),
    ],
    ids=[
        "none",
        "too few",
        "just enough",
        "those that waited as long",
        "waits longer than anybody",
        "not the quick ones",
    ],
)
def test_only_those_that_waited_as_long_count(waits: list[float], waited: float, says: Waits | None) -> None:
    assert expected(waits, waited) == says


@given(st.lists(SECONDS, max_size=40), SECONDS)
def test_a_job_that_waits_may_expect_what_is_left(waits: list[float], waited: float) -> None:
    longer = sorted(wait for wait in waits if wait > waited)
    found = expected(sorted(waits), waited)
    assert (found is None) == (len(longer) < MIN_WAITS)
    if found is not None:
        assert 0 < found.p50 <= found.p95
        assert found.p95 == percentile(longer, 95) - waited
