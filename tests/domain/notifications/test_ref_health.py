"""What makes a success a fix."""

import pytest

from domain.notifications.occasions import Occasion
from domain.notifications.ref_health import Health, after, occasion_of
from domain.pipelines.status import Status

S, F = Status.SUCCESS, Status.FAILED


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ([S], ["succeeded"]),
        ([F], ["failed"]),
        ([F, S], ["failed", "fixed"]),
        ([F, F, S, S], ["failed", "failed", "fixed", "succeeded"]),
        ([S, F, S, F, S], ["succeeded", "failed", "fixed", "failed", "fixed"]),
    ],
)
def test_from_one_pipeline_to_the_next(ends: list[Status], told: list[str]) -> None:
    health: Health | None = None
    found = []
    for status in ends:
        health = after(health, status)
        found.append(occasion_of(status, health))
    assert found == [Occasion(f"pipeline_{name}") for name in told]


def test_an_older_pipeline_says_only_how_it_went_itself() -> None:
    assert occasion_of(S, None) is Occasion.PIPELINE_SUCCEEDED
    assert occasion_of(F, None) is Occasion.PIPELINE_FAILED
