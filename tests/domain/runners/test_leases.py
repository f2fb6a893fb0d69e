"""A silent runner has one bonus at most, however outages follow each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.runners.leases import Silence, outage_in

LIMIT = 36
BONUSES = st.integers(24, 120)
"""Ticks: from two to ten minutes."""
EVENTS = st.lists(st.one_of(st.none(), BONUSES, st.just(0)), max_size=400)
"""What happens at each tick: nothing, the end of an outage with its bonus, or a call (0)."""


@given(EVENTS)
def test_a_silent_job_is_given_up_within_the_limit_and_one_bonus(events: list[int | None]) -> None:
    silence, bonuses = Silence(0, 0), [0]
    for now, event in enumerate(events, 1):
        if event == 0:
            silence = silence.broken(now)
        elif event is not None:
            silence = silence.forgiven(event)
            bonuses.append(event)
        silent_for = now - silence.called
        assert not silence.is_over(now, LIMIT) or silent_for > LIMIT
        assert silence.is_over(now, LIMIT) or silent_for <= LIMIT + max(bonuses)


@given(st.lists(st.tuples(st.integers(1, 60), BONUSES), min_size=1, max_size=20))
def test_of_several_bonuses_of_one_silence_the_longest_counts(outages: list[tuple[int, int]]) -> None:
    silence = Silence(5, 5)
    for _, bonus in outages:
        silence = silence.forgiven(bonus)
    longest = max(bonus for _, bonus in outages)
    assert not silence.is_over(5 + LIMIT + longest, LIMIT)
    assert silence.is_over(5 + LIMIT + longest + 1, LIMIT)


@given(BONUSES, st.integers(1, 200))
def test_a_call_takes_no_bonus_back_and_earns_the_next_one(bonus: int, now: int) -> None:
    silence = Silence(0, 0).forgiven(bonus).broken(now)
    assert silence.counted == max(bonus, now)
    assert silence.forgiven(bonus).counted == now + bonus


@pytest.mark.parametrize(
    ("gap", "held", "outage"),
    [
        (10.0, 0.0, 0.0),
        (10.1, 0.0, 10.1),
        (21.8, 21.0, 0.0),
        (600.0, 600.0, 0.0),
        (600.0, 30.0, 570.0),
        (20.0, 10.0, 0.0),
        (0.0, 3.0, 0.0),
    ],
)
def test_a_freeze_is_no_outage(gap: float, held: float, outage: float) -> None:
    assert outage_in(gap, held, tick=5.0) == pytest.approx(outage)
