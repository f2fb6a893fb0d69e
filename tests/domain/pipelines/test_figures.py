"""Figures over time: the day that a pipeline counts for."""

from datetime import UTC, date, datetime, timedelta, timezone

from domain.pipelines.figures import Covered, CoveredDay, Figures, by_day

MIDNIGHT = datetime(2026, 6, 1, tzinfo=UTC)


def test_of_each_day_in_utc_the_last_pipeline_counts() -> None:
    west = timezone(timedelta(hours=-5))
    first = Covered(1, "a", (MIDNIGHT - timedelta(hours=1)).astimezone(west), 10)
    second = Covered(2, "b", MIDNIGHT.astimezone(west), 20)
    third = Covered(3, "c", MIDNIGHT + timedelta(hours=23), 30)
    expected = [CoveredDay(date(2026, 5, 31), first), CoveredDay(date(2026, 6, 1), third)]
    assert by_day([first, second, third]) == by_day([third, second, first]) == expected
    assert by_day([]) == []


def test_a_rate_is_in_percent() -> None:
    assert [Figures("unit", 3, good, 0, 0).success_rate for good in range(4)] == [0, 33.33, 66.67, 100]
