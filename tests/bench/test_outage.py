"""The figures of an outage, from responses whose figures are known."""

import pytest

from bench.outage.figures import AWAY, BEFORE, WARM, Told, figures
from bench.rows import Row, all_hold

KILLED, BACK = WARM + BEFORE, WARM + BEFORE + AWAY + 2.0


def _told() -> list[Told]:
    others = [Told("default", WARM + number, "ask", 200, 10.0, 0) for number in range(int(BEFORE + AWAY))]
    polls = [Told("pod-2", WARM + number, "poll", 201, 50_000.0, number + 1) for number in range(int(BEFORE + AWAY))]
    lost = [Told("pod-1", KILLED + number, "poll", 503, 2_500.0, 0) for number in range(1, int(AWAY))]
    return [*others, *polls, *lost, Told("pod-1", BACK + 3.0, "poll", 201, 1.0, 1 << 40)]


def _by_name(rows: list[Row]) -> dict[str, Row]:
    return {row.name.partition(": ")[2]: row for row in rows}


def test_what_a_held_poll_takes_is_no_figure_and_the_first_job_counts_from_the_return() -> None:
    rows = figures(_told(), BACK)
    found = _by_name(rows)
    assert all_hold(rows)
    assert found["others' p99, meanwhile / before"].measured == 1.0
    assert found["from its return to a job handed out"].measured == pytest.approx(3.0)
    assert found["its own 503s"].measured == AWAY - 1
    assert found["the slowest of them"].measured == 2.5


def test_a_refusal_counts_from_when_the_pod_was_killed() -> None:
    under_way = Told("pod-1", KILLED + 0.5, "poll", 503, 20_000.0, 0)
    assert _by_name(figures([*_told(), under_way], BACK))["the slowest of them"].measured == 2.5


@pytest.mark.parametrize(
    ("told", "figure"),
    [
        (Told("pod-2", KILLED + 1, "ask", 503, 1.0, 0), "errors of the others"),
        (Told("pod-2", KILLED + 1, "final", 0, 1.0, 0), "errors of the others"),
        (Told("pod-1", KILLED + 1, "poll", 0, 1.0, 0), "its own other errors"),
        (Told("pod-1", KILLED + 9, "ask", 503, 3_100.0, 0), "the slowest of them"),
        (Told("pod-1", BACK + 5, "poll", 201, 1.0, 7), "of these twice"),
    ],
)
def test_what_may_not_be_misses_its_bar(told: Told, figure: str) -> None:
    found = _by_name(figures([*_told(), told], BACK))
    assert [name for name, row in found.items() if not row.holds] == [figure]


def test_others_that_become_slower_miss_their_bar() -> None:
    slower = [Told("default", KILLED + number, "ask", 200, 12.0, 0) for number in range(int(AWAY))]
    assert not _by_name(figures([*_told(), *slower], BACK))["others' p99, meanwhile / before"].holds


def test_a_pod_that_hands_out_nothing_after_its_return_misses_its_bar() -> None:
    silent = [one for one in _told() if one.job < 1 << 40]
    assert not _by_name(figures(silent, BACK))["from its return to a job handed out"].holds
