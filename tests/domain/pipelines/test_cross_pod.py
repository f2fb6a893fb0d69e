"""Which message of another pod tells something new."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from domain.pipelines.cross_pod import PipelineState, is_later
from domain.pipelines.status import Status

NOW = datetime(2026, 1, 31, tzinfo=UTC)
KNOWN = PipelineState(1, 1, 2, "acme/app", "private", "main", "a" * 40, "pipeline", "", Status.PENDING, 2, 5, NOW, NOW)


@pytest.mark.parametrize(
    ("run", "tick", "status", "expected"),
    [
        (2, 5, Status.PENDING, False),
        (2, 5, Status.RUNNING, True),
        (2, 6, Status.SUCCESS, True),
        (3, 0, Status.PENDING, True),
        (2, 4, Status.RUNNING, False),
        (1, 9, Status.SUCCESS, False),
    ],
)
def test_a_later_decision_counts_and_so_does_the_claim_of_a_job(
    run: int, tick: int, status: Status, expected: bool
) -> None:
    assert is_later(replace(KNOWN, run=run, tick=tick, status=status), KNOWN) is expected


def test_what_runs_already_is_not_told_twice() -> None:
    running = replace(KNOWN, status=Status.RUNNING)
    assert not is_later(running, running)
    assert not is_later(KNOWN, running)
