"""What becomes of a tick, by policy."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.schedules.ticks import CatchUp, Outcome, Overlap, Policy, Standing, Step, after, decide

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
BUSY = Standing(runs=True)


def step(overlap: Overlap, standing: Standing) -> Step:
    return decide(Policy(overlap), NOON, NOON, standing, is_last=True)


@pytest.mark.parametrize("overlap", list(Overlap))
def test_a_tick_alone_is_due(overlap: Overlap) -> None:
    assert step(overlap, Standing()) == Step(Outcome.DUE)


@pytest.mark.parametrize(
    ("overlap", "outcome", "replaces", "cancels"),
    [
        (Overlap.ALLOW_ALL, Outcome.DUE, False, False),
        (Overlap.SKIP, Outcome.SKIPPED, False, False),
        (Overlap.BUFFER_ONE, Outcome.WAITING, False, False),
        (Overlap.CANCEL_OTHER, Outcome.WAITING, True, True),
        (Overlap.TERMINATE_OTHER, Outcome.DUE, True, True),
    ],
)
@pytest.mark.parametrize("standing", [BUSY, Standing(to_make=True)])
def test_an_overlap_is_treated_as_the_policy_says(
    overlap: Overlap, outcome: Outcome, replaces: bool, cancels: bool, standing: Standing
) -> None:
    found = step(overlap, standing)
    assert (found.outcome, found.replaces, found.cancels) == (outcome, replaces, cancels)


def test_only_one_tick_waits() -> None:
    assert step(Overlap.BUFFER_ONE, Standing(runs=True, waits=True)).outcome is Outcome.SKIPPED
    assert step(Overlap.CANCEL_OTHER, Standing(runs=True, waits=True)).outcome is Outcome.WAITING


def test_a_new_tick_replaces_what_has_no_pipeline_yet() -> None:
    before = Standing(runs=True, to_make=True, waits=True)
    assert after(before, step(Overlap.TERMINATE_OTHER, before)) == Standing(runs=True, to_make=True)
    assert after(before, step(Overlap.CANCEL_OTHER, before)) == Standing(runs=True, waits=True)
    assert after(before, step(Overlap.SKIP, before)) == before


@pytest.mark.parametrize(
    ("late", "window", "outcome"),
    [
        (timedelta(0), 0, Outcome.DUE),
        (timedelta(seconds=-1), 0, Outcome.DUE),
        (timedelta(seconds=60), 0, Outcome.DUE),
        (timedelta(seconds=61), 0, Outcome.MISSED),
        (HOUR, 3600, Outcome.DUE),
        (HOUR + timedelta(seconds=1), 3600, Outcome.MISSED),
    ],
)
def test_the_window_says_how_late_a_tick_may_be(late: timedelta, window: int, outcome: Outcome) -> None:
    policy = Policy(window=timedelta(seconds=window))
    assert decide(policy, NOON, NOON + late, Standing(), is_last=True).outcome is outcome


def test_only_the_last_tick_of_an_outage_is_caught_up_unless_all_are_wanted() -> None:
    late = NOON + timedelta(minutes=10)
    assert decide(Policy(), NOON, late, Standing(), is_last=False).outcome is Outcome.MISSED
    every = Policy(catch_up=CatchUp.ALL)
    assert decide(every, NOON, late, Standing(), is_last=False).outcome is Outcome.DUE
