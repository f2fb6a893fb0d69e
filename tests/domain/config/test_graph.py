"""Parallel jobs, needs and dependencies across jobs."""

import pytest

from domain.config.graph import Graph
from domain.config.job import JobDraft
from domain.config.plan import Need
from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Place
from domain.errors import ConfigInvalid
from tests.domain.config.short_texts import messages, plan


def needs_of(text: str) -> dict[str, list[str] | None]:
    return {job.name: None if job.needs is None else [need.job for need in job.needs] for job in plan(text).jobs}


def test_a_number_makes_numbered_instances() -> None:
    made = plan("a: {script: x, parallel: 3}").jobs
    assert [(job.name, job.node_index, job.node_total) for job in made] == [
        ("a 1/3", 1, 3),
        ("a 2/3", 2, 3),
        ("a 3/3", 3, 3),
    ]


def test_a_matrix_makes_products_in_the_order_of_its_keys() -> None:
    made = plan(
        "a: {script: x, variables: {OS: own, K: own}, parallel: {matrix: [{OS: [l, m], V: [1, 2]}, {OS: w}]}}"
    ).jobs
    assert [job.name for job in made] == ["a: [l, 1]", "a: [l, 2]", "a: [m, 1]", "a: [m, 2]", "a: [w]"]
    assert [(job.node_index, job.node_total) for job in made] == [(index, 5) for index in range(1, 6)]
    assert {name: variable.value for name, variable in made[1].variables.items()} == {"OS": "l", "K": "own", "V": "2"}


@pytest.mark.parametrize(
    ("parallel", "said"),
    [
        ("{}", "jobs:a:parallel config missing required keys: matrix"),
        ("{matrix: {A: 1}}", "jobs:a:parallel:matrix config should be an array of hashes"),
        ("{matrix: [1]}", "jobs:a:parallel:matrix config should be an array of hashes"),
        ("{matrix: [{}]}", "jobs:a:parallel:matrix config requires at least 1 items"),
        (
            "{matrix: [{A: [null]}]}",
            "jobs:a:parallel:matrix config should be a hash of key value pairs",
        ),
        (
            "{matrix: [{A: {}}]}",
            "jobs:a:parallel:matrix config should be a hash of key value pairs",
        ),
        (f"{{matrix: [{{A: {[0] * 15}, B: {[0] * 14}}}]}}", "jobs:a:parallel:matrix config generates too many jobs"),
        ("{rows: 1}", "jobs:a:parallel config contains unknown keys: rows"),
    ],
)
def test_what_is_no_parallel(parallel: str, said: str) -> None:
    assert any(message.startswith(said) for message in messages(f"a: {{script: x, parallel: {parallel}}}"))


def test_a_base_name_stands_for_all_instances() -> None:
    made = plan(
        """
        a: {stage: build, script: x, parallel: 2}
        b: {script: x, needs: [{job: a, artifacts: false}], dependencies: [a]}
        """
    ).jobs[2]
    assert made.needs == (Need("a 1/2", artifacts=False), Need("a 2/2", artifacts=False))
    assert made.dependencies == ("a 1/2", "a 2/2")


def test_one_instance_can_be_named() -> None:
    text = "a: {script: x, parallel: {matrix: [{A: [x, y]}]}}\nb: {script: x, needs: ['a: [y]']}"
    assert needs_of(text)["b"] == ["a: [y]"]


def test_a_need_may_take_the_value_of_its_own_matrix() -> None:
    matrix = "parallel: {matrix: [{OS: [l, m]}]}"
    text = f"a: {{stage: build, script: x, {matrix}}}\nb: {{script: x, {matrix}, needs: ['a: [$[[ matrix.OS ]]]']}}"
    assert needs_of(text) == {"a: [l]": None, "a: [m]": None, "b: [l]": ["a: [l]"], "b: [m]": ["a: [m]"]}


def test_instances_may_need_each_other() -> None:
    text = "a: {script: x, parallel: {matrix: [{P: [x, y]}]}}\nb: {script: x, needs: [{job: 'a: [x]', optional: true}]}"
    assert needs_of(text)["b"] == ["a: [x]"]


def test_an_absent_optional_need_disappears() -> None:
    assert needs_of("a: {script: x, needs: [{job: ghost, optional: true}]}") == {"a": []}


def test_needs_keep_their_order_and_flags() -> None:
    made = plan("c: {script: x}\nb: {script: x}\na: {script: x, needs: [b, {job: c, optional: true}]}").jobs[2]
    assert made.needs == (Need("b"), Need("c", optional=True))


def test_one_mapping_is_a_need() -> None:
    assert needs_of("a: {script: x}\nb: {script: x, needs: {job: a}}")["b"] == ["a"]


BUILD_AND_DEPLOY = "early: {stage: build, script: x}\nlate: {stage: deploy, script: x}\n"


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ("stage: fly", "a job: chosen stage fly does not exist; available stages are .pre, build, test, deploy, .post"),
        ("needs: [ghost]", "a job: undefined need: ghost"),
        ("needs: [late]", "a job: need late is not defined in current or prior stages"),
        ("needs: [early, early]", "a has the following needs duplicated: early."),
        ("needs: [a]", "The pipeline has circular dependencies: self-dependency: a"),
        ("needs: [a], parallel: 1", "The pipeline has circular dependencies: self-dependency: a 1/1"),
        ("dependencies: [ghost]", "a job: undefined dependency: ghost"),
        ("dependencies: [late]", "a job: dependency late is not defined in current or prior stages"),
        ("needs: [early], dependencies: [a]", "jobs:a dependencies the a should be part of needs"),
    ],
)
def test_refused(keywords: str, said: str) -> None:
    assert messages(f"{BUILD_AND_DEPLOY}a: {{script: x, {keywords}}}") == [said]


def test_duplicates_by_base_and_instance() -> None:
    text = "a: {script: x, parallel: 2}\nb: {script: x, needs: [a, a 2/2]}"
    assert messages(text) == ["b has the following needs duplicated: a 2/2."]


def test_circles_are_told_one_by_one() -> None:
    text = "\n".join(f"{job}: {{script: x, needs: [{need}]}}" for job, need in ("ab", "bc", "ca", "de", "ed"))
    found = messages(text)
    assert len(found) == 2
    assert found[0].startswith("The pipeline has circular dependencies: ")
    assert set(found[0].removeprefix("The pipeline has circular dependencies: ").split(" -> ")) == {"a", "b", "c"}
    assert set(found[1].removeprefix("The pipeline has circular dependencies: ").split(" -> ")) == {"d", "e"}


def test_a_circle_is_written_from_a_job_to_its_need() -> None:
    found = messages("a: {script: x, needs: [b]}\nb: {script: x, needs: [c]}\nc: {script: x, needs: [a]}")
    assert found[0].split(": ")[1] in {"a -> b -> c -> a", "b -> c -> a -> b", "c -> a -> b -> c"}


def test_fifty_needs_are_enough() -> None:
    text = "a: {script: x, parallel: %d}\nb: {script: x, needs: [a]}"
    assert len(needs_of(text % 50)["b"] or []) == 50
    assert messages(text % 51) == ["b job: one job can only need 50 others, but you have listed 51"]


@pytest.mark.parametrize(
    "jobs",
    ["a: {script: x, parallel: 1}\na 1/1: {script: last}", "a 1/1: {script: x}\na: {script: last, parallel: 1}"],
)
def test_of_two_jobs_with_one_name_the_last_is_there(jobs: str) -> None:
    found = plan(f"{jobs}\nb: {{script: x, needs: [a 1/1]}}")
    assert [(job.name, job.script) for job in found.jobs] == [("a 1/1", ("last",)), ("b", ("x",))]


def test_a_job_of_an_unreadable_stage_is_not_compared() -> None:
    assert messages("a: {script: x, stage: [b]}\nb: {script: x, stage: build, needs: [a]}") == [
        "jobs:a:stage config should be a string"
    ]


def test_many_instances_are_limited() -> None:
    issues = Issues("ci.yml")
    with pytest.raises(ConfigInvalid, match="grows to more than 1,000 values"):
        Graph([JobDraft("a", Place(1, 1), parallel=200)], ("test",), frozenset(), issues, Budget(1000, issues))
