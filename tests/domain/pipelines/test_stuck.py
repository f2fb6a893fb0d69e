"""Why no runner can take a job that waits."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pipelines.stuck import awaits_permission, why_stuck
from domain.runners.matching import Candidate, Demand, RunnerType, may_take

FREE = Candidate()
LINUX = Candidate(tags=frozenset({"linux", "docker"}))
MAC = Candidate(tags=frozenset({"mac"}))
UNTAGGED = Demand(1, 1)
ELSEWHERE = Candidate(RunnerType.PROJECT, 1, frozenset({2}))


AS_SERVER = Candidate(as_server=True)
OF_OTHERS = Demand(1, 1, others=True, project_path="acme/tool")
WITHOUT_PERMISSION = (
    "The built-in runner runs jobs as the server's user, and there are accounts of other people: an administrator "
    "allows this project with `perdure runner allow acme/tool` or on the job's page."
)


def tagged(*tags: str) -> Demand:
    """A job of project 1 with these tags."""
    return Demand(1, 1, frozenset(tags))


@pytest.mark.parametrize(
    ("demand", "runners", "says"),
    [
        (UNTAGGED, [], "No runner is registered."),
        (UNTAGGED, [ELSEWHERE], "All runners belong to other projects."),
        (tagged("gpu"), [LINUX], "has the tag gpu."),
        (tagged("gpu", "arm", "linux"), [LINUX, MAC], "has the tags arm, gpu."),
        (tagged("linux", "mac"), [LINUX, MAC], "has all of the tags linux, mac."),
        (tagged("linux"), [replace(ELSEWHERE, tags=LINUX.tags), MAC], "has the tag linux."),
        (UNTAGGED, [replace(LINUX, run_untagged=False)], "has no tags, and no runner"),
        (UNTAGGED, [Candidate(ref_protected=True)], "only jobs of protected refs"),
        (UNTAGGED, [Candidate(paused=True)], "The only runner that fits is paused."),
        (UNTAGGED, [Candidate(paused=True), Candidate(paused=True)], "All 2 runners that fit are paused."),
        (UNTAGGED, [Candidate(online=False), Candidate(paused=True)], "The only runner that fits is offline"),
        (UNTAGGED, [Candidate(online=False), Candidate(online=False)], "All 2 runners that fit are offline"),
        (tagged("{they}"), [LINUX], "has the tag {they}."),
        (OF_OTHERS, [AS_SERVER], WITHOUT_PERMISSION),
        (OF_OTHERS, [AS_SERVER, Candidate(paused=True)], "The only runner that fits is paused."),
    ],
)
def test_the_first_thing_that_no_runner_has_is_the_reason(demand: Demand, runners: list[Candidate], says: str) -> None:
    assert says in why_stuck(demand, runners)


@pytest.mark.parametrize(
    ("demand", "runner"),
    [
        (UNTAGGED, FREE),
        (UNTAGGED, LINUX),
        (UNTAGGED, Candidate(RunnerType.PROJECT, 1, frozenset({1}))),
        (tagged("linux"), LINUX),
        (tagged("linux"), replace(LINUX, run_untagged=False)),
        (Demand(1, protected=True), Candidate(ref_protected=True)),
        (Demand(1, protected=True), FREE),
        (UNTAGGED, AS_SERVER),
        (OF_OTHERS, FREE),
        (replace(OF_OTHERS, may_run_as_server=True), AS_SERVER),
    ],
)
def test_one_runner_that_fits_is_enough(demand: Demand, runner: Candidate) -> None:
    others = [
        ELSEWHERE,
        Candidate(paused=True),
        Candidate(online=False),
        replace(MAC, run_untagged=False),
    ]
    assert why_stuck(demand, [*others, runner]) == ""


tags = st.frozensets(st.sampled_from(["linux", "mac", "gpu"]))
demands = st.builds(
    Demand,
    st.integers(1, 2),
    st.just(1),
    tags,
    st.booleans(),
    may_run_as_server=st.booleans(),
    others=st.booleans(),
    archived=st.booleans(),
)
candidates = st.builds(
    Candidate,
    st.sampled_from(RunnerType),
    st.integers(1, 2),
    st.frozensets(st.integers(1, 2)),
    tags,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    as_server=st.booleans(),
)


@given(demands, st.lists(candidates, max_size=5))
def test_there_is_a_reason_exactly_when_no_runner_fits(demand: Demand, runners: list[Candidate]) -> None:
    assert (why_stuck(demand, runners) == "") == any(may_take(demand, runner) and runner.online for runner in runners)


@pytest.mark.parametrize("runners", [[], [ELSEWHERE], [AS_SERVER], [LINUX], [replace(AS_SERVER, paused=True)]])
def test_a_job_awaits_permission_exactly_when_that_alone_keeps_it(runners: list[Candidate]) -> None:
    demand = replace(OF_OTHERS, tags=frozenset({"linux"}))
    linux = [replace(runner, tags=LINUX.tags) for runner in runners]
    allowed = replace(demand, may_run_as_server=True)
    reason = why_stuck(demand, linux)
    assert awaits_permission(reason) is (reason != why_stuck(allowed, linux))
