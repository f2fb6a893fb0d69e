"""Which runner may take which job, and whose turn it is."""

from dataclasses import replace

import pytest

from domain.runners.matching import Candidate, Demand, RunnerType, Waiting, may_share_user, may_take, next_job

PLAIN = Demand(project_id=1, organisation_id=10)
TAGGED = replace(PLAIN, tags=frozenset({"linux", "gpu"}))
INSTANCE = Candidate()
GROUP = Candidate(RunnerType.GROUP, organisation_id=10)
PROJECT = Candidate(RunnerType.PROJECT, organisation_id=10, projects=frozenset({1}))


@pytest.mark.parametrize(
    ("demand", "runner", "may"),
    [
        (PLAIN, INSTANCE, True),
        (replace(PLAIN, instance_runners=False), INSTANCE, False),
        (replace(PLAIN, instance_runners=False), GROUP, True),
        (PLAIN, GROUP, True),
        (replace(PLAIN, group_runners=False), GROUP, False),
        (PLAIN, replace(GROUP, organisation_id=11), False),
        (PLAIN, PROJECT, True),
        (PLAIN, replace(PROJECT, projects=frozenset({2})), False),
        (PLAIN, replace(PROJECT, organisation_id=11), False),
        (TAGGED, replace(INSTANCE, tags=frozenset({"linux"})), False),
        (TAGGED, replace(INSTANCE, tags=frozenset({"linux", "gpu", "more"})), True),
        (PLAIN, replace(INSTANCE, run_untagged=False), False),
        (TAGGED, replace(INSTANCE, tags=TAGGED.tags, run_untagged=False), True),
        (PLAIN, replace(INSTANCE, ref_protected=True), False),
        (replace(PLAIN, protected=True), replace(INSTANCE, ref_protected=True), True),
        (PLAIN, replace(INSTANCE, paused=True), False),
    ],
)
def test_what_a_runner_may_take(demand: Demand, runner: Candidate, may: bool) -> None:
    assert may_take(demand, runner) is may


@pytest.mark.parametrize(
    ("as_server", "others", "allowed", "may"),
    [
        (False, False, False, True),
        (False, True, False, True),
        (False, True, True, True),
        (True, False, False, True),
        (True, False, True, True),
        (True, True, False, False),
        (True, True, True, True),
    ],
)
@pytest.mark.parametrize("runner", [INSTANCE, GROUP, PROJECT])
def test_a_runner_that_is_the_servers_user_serves_others_only_where_it_is_allowed(
    runner: Candidate, as_server: bool, others: bool, allowed: bool, may: bool
) -> None:
    demand = replace(PLAIN, others=others, may_run_as_server=allowed)
    one = replace(runner, as_server=as_server)
    assert may_share_user(demand, one) is may
    assert may_take(demand, one) is may


QUEUE = (Waiting(1, PLAIN), Waiting(2, PLAIN), Waiting(3, replace(PLAIN, project_id=2)))


@pytest.mark.parametrize(
    ("runner", "running", "job"),
    [
        (INSTANCE, {}, 1),
        (INSTANCE, {1: 1}, 3),
        (INSTANCE, {1: 1, 2: 1}, 1),
        (GROUP, {1: 5}, 1),
        (PROJECT, {1: 5}, 1),
        (replace(PROJECT, projects=frozenset({9})), {}, None),
    ],
)
def test_an_instance_runner_takes_from_the_project_that_has_least(
    runner: Candidate, running: dict[int, int], job: int | None
) -> None:
    assert next_job(QUEUE, runner, running) == job
