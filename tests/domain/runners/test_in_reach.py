"""Many runners against many jobs: what the index finds is what looking at all of them would, by rules written anew."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from domain.runners.in_reach import Availability, RunnersInReach
from domain.runners.matching import Candidate, Demand, RunnerType
from tests.domain.runners.crowd import DEMANDS, RUNNERS
from tests.growth import assert_linear


def fits(demand: Demand, runner: Candidate) -> bool:
    """The rules of docs/reference/runner-protocol.md, "Picking a job", for a runner that is not paused."""
    if runner.runner_type == "instance_type":
        is_theirs = demand.instance_runners
    elif runner.organisation_id != demand.organisation_id:
        is_theirs = False
    elif runner.runner_type == "group_type":
        is_theirs = demand.group_runners and runner.namespace_id in {None, *demand.groups}
    else:
        is_theirs = demand.project_id in runner.projects
    has_tags = all(tag in runner.tags for tag in demand.tags) if demand.tags else runner.run_untagged
    may_see = demand.protected or not runner.ref_protected
    is_apart = not runner.as_server or not demand.others or demand.may_run_as_server
    return is_theirs and has_tags and may_see and is_apart


def by_looking_at_all(demand: Demand, runners: Sequence[Candidate]) -> str:
    fitting = [runner for runner in runners if fits(demand, runner)]
    if any(runner.online and not runner.paused for runner in fitting):
        return "available"
    if any(not runner.paused for runner in fitting):
        return "silent"
    return "paused" if fitting else "none"


@given(DEMANDS, st.lists(RUNNERS, max_size=8))
def test_a_job_finds_what_looking_at_every_runner_would(demand: Demand, runners: list[Candidate]) -> None:
    assert RunnersInReach(runners).availability(demand) == by_looking_at_all(demand, runners)


@given(DEMANDS, st.lists(RUNNERS, max_size=8))
def test_no_runner_that_fits_is_out_of_reach(demand: Demand, runners: list[Candidate]) -> None:
    near = set(RunnersInReach(runners).near(demand))
    assert {runner for runner in runners if fits(demand, runner)} <= near <= set(runners)


def test_the_best_comes_first() -> None:
    assert [one.rank for one in Availability] == [0, 1, 2, 3]


def test_looking_costs_what_the_jobs_do_although_there_are_as_many_runners() -> None:
    """Each project has a runner of its own, and nobody's runner is like another one's."""

    def work(size: int) -> object:
        reach = RunnersInReach(
            Candidate(RunnerType.PROJECT, 1, frozenset({number}), frozenset({str(number)})) for number in range(size)
        )
        demands = [Demand(number, 1, frozenset({"none"})) for number in range(size)]
        return lambda: [reach.availability(demand) for demand in demands]

    assert_linear(work, 1_000)  # type: ignore[arg-type]
