"""The queue by tag sets."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from domain.runners.matching import Candidate, Demand
from domain.runners.queued import WaitingJobs, queued_tag_sets
from tests.domain.runners.crowd import DEMANDS, RUNNERS
from tests.domain.runners.test_in_reach import by_looking_at_all

WAITING = st.builds(WaitingJobs, DEMANDS, st.integers(1, 9), st.integers(0, 100).map(float))


@given(st.lists(WAITING, max_size=8), st.lists(RUNNERS, max_size=6))
def test_the_queue_is_summed_by_tags_and_what_nobody_takes_is_told_with_a_reason(
    waiting: list[WaitingJobs], runners: list[Candidate]
) -> None:
    expected = {}
    for tags in {tuple(sorted(one.demand.tags)) for one in waiting}:
        alike = [one for one in waiting if tuple(sorted(one.demand.tags)) == tags]
        stuck = sum(one.jobs for one in alike if by_looking_at_all(one.demand, runners) != "available")
        expected[tags] = (sum(one.jobs for one in alike), max(one.waited for one in alike), stuck)
    found = queued_tag_sets(waiting, runners)
    assert {one.tags: (one.jobs, one.waited, one.stuck) for one in found} == expected
    assert [bool(one.why) for one in found] == [one.stuck > 0 for one in found]
    assert [one.waited for one in found] == sorted((one.waited for one in found), reverse=True)


def test_the_oldest_of_those_that_are_stuck_says_why() -> None:
    plain = Demand(1, 10, frozenset({"gpu"}))
    waiting = [WaitingJobs(plain, 2, 50.0), WaitingJobs(replace(plain, project_id=2, instance_runners=False), 1, 70.0)]
    (found,) = queued_tag_sets(waiting, [Candidate(tags=frozenset({"gpu"}))])
    assert (found.stuck, found.why) == (1, "All runners belong to other projects.")
