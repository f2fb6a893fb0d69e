"""States, their table, and how many fold into one."""

from collections.abc import Sequence
from itertools import combinations_with_replacement
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ForbiddenTransition
from domain.pipelines.status import COMPLETE, JOB_TRANSITIONS, Status, check_transition, composite, settled, sources_of

Pair = tuple[Status, bool]
PAIRS: list[Pair] = [(status, allowed) for status in Status for allowed in (False, True)]


def naive(jobs: Sequence[Pair], *, needs: bool) -> str:
    """The composite once more, row by row as the reference numbers them.

    Source: docs/reference/pipelines.md, "Composite status".
    """

    def kind(pair: Pair) -> str:
        status, allowed = pair
        if allowed and status.value in ("failed", "canceled"):
            return "W"
        return "I" if allowed and status.value == "manual" else status.value

    kinds = [kind(pair) for pair in jobs]

    def only(*names: str) -> bool:
        return all(name in names for name in kinds)

    rows = [
        ("success", not kinds),
        ("skipped", needs and ("skipped" in kinds or "I" in kinds)),
        ("skipped", only("skipped", "I")),
        ("success", only("success", "skipped", "W", "I")),
        ("created", only("created", "W", "I")),
        ("preparing", only("preparing", "W", "I")),
        ("canceled", only("canceled", "success", "skipped", "W", "I")),
        ("pending", only("pending", "created", "skipped", "W", "I")),
        ("running", "running" in kinds or "pending" in kinds),
        ("waiting_for_resource", "waiting_for_resource" in kinds),
        ("manual", "manual" in kinds),
        ("scheduled", "scheduled" in kinds),
        ("preparing", "preparing" in kinds),
        ("running", "created" in kinds),
        ("canceling", "canceling" in kinds),
        ("failed", True),
    ]
    return next(result for result, fits in rows if fits)


@pytest.mark.parametrize("needs", [False, True])
def test_the_composite_is_the_naive_fold_for_every_handful_of_jobs(needs: bool) -> None:
    """Every multiset of up to four jobs."""
    for size in range(5):
        for jobs in combinations_with_replacement(PAIRS, size):
            assert composite(jobs, needs=needs) == naive(jobs, needs=needs), jobs


@given(st.lists(st.sampled_from(PAIRS), max_size=12), st.booleans())
def test_the_composite_is_the_naive_fold_for_many_jobs(jobs: list[Pair], needs: bool) -> None:
    assert composite(jobs, needs=needs) == naive(jobs, needs=needs)


@given(st.lists(st.sampled_from(PAIRS), max_size=6), st.randoms())
def test_order_and_repetition_do_not_matter(jobs: list[Pair], random: Random) -> None:
    shuffled = [*jobs, *jobs]
    random.shuffle(shuffled)
    assert composite(shuffled) is composite(jobs)


def test_the_table_and_its_inverse_agree() -> None:
    for status in Status:
        assert sources_of(status) == {source for source, following in JOB_TRANSITIONS.items() if status in following}


def test_every_state_can_be_reached_and_an_end_is_final() -> None:
    reachable = {Status.CREATED}
    while more := {to for status in reachable for to in JOB_TRANSITIONS[status]} - reachable:
        reachable |= more
    assert reachable == set(Status)
    assert {status for status in COMPLETE if JOB_TRANSITIONS[status]} == {Status.SKIPPED}


def test_a_forbidden_transition_says_what_is_wrong() -> None:
    check_transition(7, Status.CREATED, Status.PENDING)
    with pytest.raises(ForbiddenTransition, match="Job 7 is success; it cannot become running"):
        check_transition(7, Status.SUCCESS, Status.RUNNING)


@pytest.mark.parametrize("previous", list(Status))
def test_a_composite_of_created_keeps_the_last_status(previous: Status) -> None:
    assert settled(previous, Status.CREATED) is previous


@pytest.mark.parametrize("previous", list(Status))
def test_a_pipeline_that_ran_once_never_goes_back_to_pending(previous: Status) -> None:
    fresh = {"created", "manual", "waiting_for_resource", "preparing", "pending", "skipped", "scheduled"}
    assert settled(previous, Status.PENDING) == ("pending" if previous in fresh else "running")


@pytest.mark.parametrize("folded", sorted(set(Status) - {Status.CREATED, Status.PENDING}))
def test_any_other_composite_is_taken_as_it_is(folded: Status) -> None:
    assert {settled(previous, folded) for previous in Status} == {folded}
