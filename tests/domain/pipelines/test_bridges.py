"""What a downstream pipeline means for its bridge, which pipelines are refused, what is handed down."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.keywords import RETRY_WHEN
from domain.config.plan import RetryPolicy, Variable
from domain.config.readers.trigger import STRATEGIES
from domain.errors import Invalid
from domain.pipelines.bridges import (
    CHILD,
    LOOP,
    MAX_DEPTH,
    MAX_PIPELINES,
    REFUSALS,
    TAKEN_OVER,
    TEXT_OF,
    TOO_DEEP,
    TOO_MANY,
    Act,
    Ancestor,
    Scope,
    Step,
    child_configuration,
    follow,
    forwarded,
    refusal,
)
from domain.pipelines.status import COMPLETE, JOB_TRANSITIONS, MIRROR_TRANSITIONS, Status
from domain.pipelines.verdict import KNOWN_REASONS, Verdict, public_reason, retries_itself
from domain.variables.job_variables import JobVariable
from tests.domain.pipelines.graphs import job

ANY_STATUS = st.sampled_from(Status)
STRATEGY = st.sampled_from(STRATEGIES)
MAIN = Ancestor(1, "main", "push")


def test_every_strategy_of_the_language_has_its_rules() -> None:
    assert set(TAKEN_OVER) == {"", *STRATEGIES}


@pytest.mark.parametrize(
    ("strategy", "downstream", "step"),
    [
        ("depend", "success", Step(Act.END, Status.SUCCESS)),
        ("depend", "failed", Step(Act.END, Status.FAILED)),
        ("depend", "skipped", Step(Act.END, Status.FAILED)),
        ("depend", "canceled", Step(Act.END, Status.CANCELED)),
        ("depend", "manual", Step(Act.NOTHING)),
        ("depend", "running", Step(Act.NOTHING)),
        ("mirror", "success", Step(Act.END, Status.SUCCESS)),
        ("mirror", "failed", Step(Act.END, Status.FAILED)),
        ("mirror", "skipped", Step(Act.END, Status.SKIPPED)),
        ("mirror", "canceled", Step(Act.END, Status.CANCELED)),
        ("mirror", "manual", Step(Act.MIRROR, Status.MANUAL)),
        ("mirror", "scheduled", Step(Act.NOTHING)),
    ],
)
def test_a_running_bridge_takes_over_what_its_strategy_says(strategy: str, downstream: str, step: Step) -> None:
    assert follow(strategy, Status.RUNNING, Status(downstream), ended_before=False) == step


@given(bridge=ANY_STATUS, downstream=ANY_STATUS, ended=st.booleans())
def test_without_a_strategy_nothing_is_followed(bridge: Status, downstream: Status, ended: bool) -> None:
    assert follow("", bridge, downstream, ended_before=ended).act is Act.NOTHING


@given(strategy=STRATEGY, bridge=ANY_STATUS, downstream=ANY_STATUS, ended=st.booleans())
def test_a_step_is_one_that_the_bridge_may_take(strategy: str, bridge: Status, downstream: Status, ended: bool) -> None:
    step = follow(strategy, bridge, downstream, ended_before=ended)
    if step.act is Act.REVIVE:
        assert bridge in COMPLETE - {Status.SKIPPED}
        assert downstream not in COMPLETE
        assert ended
    elif step.act is not Act.NOTHING:
        allowed = JOB_TRANSITIONS[bridge] | MIRROR_TRANSITIONS.get(bridge, frozenset())
        assert step.to in allowed
        assert (step.act is Act.END) == (step.to in COMPLETE)


@given(strategy=STRATEGY, bridge=st.sampled_from([Status.RUNNING, Status.MANUAL]), downstream=ANY_STATUS)
def test_a_step_that_was_taken_is_not_taken_again(strategy: str, bridge: Status, downstream: Status) -> None:
    step = follow(strategy, bridge, downstream, ended_before=False)
    after = bridge if step.act is Act.NOTHING else step.to
    assert follow(strategy, after, downstream, ended_before=downstream in COMPLETE).act is Act.NOTHING


@given(strategy=STRATEGY, downstream=st.sampled_from(sorted(COMPLETE)))
def test_a_bridge_is_complete_when_its_pipeline_is(strategy: str, downstream: Status) -> None:
    assert follow(strategy, Status.RUNNING, downstream, ended_before=False).to in COMPLETE


def test_one_that_ended_otherwise_is_not_revived_by_a_pipeline_that_still_runs_for_the_first_time() -> None:
    assert follow("depend", Status.CANCELED, Status.RUNNING, ended_before=False).act is Act.NOTHING


@given(child=st.booleans(), depth=st.integers(0, 5), count=st.integers(1, 2 * MAX_PIPELINES))
def test_depth_counts_for_children_and_size_for_all(child: bool, depth: int, count: int) -> None:
    found = refusal(child=child, depth=depth, pipelines=count, above=[MAIN])
    if child and depth >= MAX_DEPTH:
        assert found == TOO_DEEP
    else:
        assert found == (TOO_MANY if count >= MAX_PIPELINES else "")


ANCESTORS = st.lists(
    st.builds(
        Ancestor, st.integers(1, 2), st.sampled_from(["main", "next"]), st.sampled_from(["push", "pipeline", CHILD])
    ),
    max_size=12,
)


@given(ANCESTORS)
def test_a_loop_is_the_third_visit_and_children_make_none(above: list[Ancestor]) -> None:
    visits = max((above.count(one) for one in above if one.source != CHILD), default=0)
    assert refusal(child=False, depth=0, pipelines=1, above=above) == (LOOP if visits > 2 else "")
    assert refusal(child=True, depth=0, pipelines=1, above=above) == ""


def test_the_reasons_are_known_and_never_retried() -> None:
    assert set(TEXT_OF) == REFUSALS
    assert REFUSALS <= KNOWN_REASONS & RETRY_WHEN
    always = job("deploy", retry=RetryPolicy(2, ("always",)))
    for reason in REFUSALS:
        assert public_reason(reason) == reason
        assert not retries_itself(always, Verdict(always.id, Status.FAILED, reason=reason))
    assert public_reason("downstream_pipeline_failed") == "unknown_failure"


def scope(**variables: str) -> Scope:
    """A bridge with these variables in the configuration."""
    return Scope(
        predefined=(JobVariable("CI_COMMIT_REF_NAME", "main", raw=True),),
        yaml={key: Variable(value) for key, value in variables.items()},
        pipeline=(JobVariable("ASKED", "for-$CI_COMMIT_REF_NAME"),),
    )


def handed(found: tuple[JobVariable, ...]) -> dict[str, str]:
    """Names and values."""
    return {variable.key: variable.value for variable in found}


def test_yaml_variables_go_down_expanded_and_those_of_the_pipeline_only_when_asked() -> None:
    bridge = scope(LEVEL="3", PLACE="at-$CI_COMMIT_REF_NAME-$LEVEL")
    yaml = {"LEVEL": "3", "PLACE": "at-main-3"}
    assert handed(forwarded(bridge)) == yaml
    assert handed(forwarded(bridge, pipeline=True)) == {**yaml, "ASKED": "for-main"}
    assert handed(forwarded(bridge, yaml=False, pipeline=True)) == {"ASKED": "for-main"}
    assert forwarded(bridge, yaml=False) == ()


def test_a_pipeline_variable_hides_one_of_the_configuration_only_if_it_goes_down_too() -> None:
    bridge = scope(ASKED="$CI_COMMIT_REF_NAME in the text")
    assert handed(forwarded(bridge)) == {"ASKED": "main in the text"}
    assert handed(forwarded(bridge, pipeline=True)) == {"ASKED": "for-main"}


def test_whoever_plays_a_bridge_gives_variables_down() -> None:
    bridge = Scope(yaml={"LEVEL": Variable("1")}, job=(JobVariable("LEVEL", "9"), JobVariable("NEW", "$LEVEL")))
    assert handed(forwarded(bridge)) == {"LEVEL": "9", "NEW": "9"}


def test_raw_variables_stay_raw() -> None:
    (variable,) = forwarded(Scope(yaml={"PRICE": Variable("$5", raw=True)}))
    assert (variable.value, variable.raw) == ("$5", True)


def test_a_circle_is_an_error() -> None:
    with pytest.raises(Invalid, match="circular"):
        forwarded(scope(A="$B", B="$A"))


NAMES = st.sampled_from(["A", "B", "C"])


@given(
    yaml=st.dictionaries(NAMES, st.sampled_from(["", "x", "$D-y"])),
    pipeline=st.dictionaries(NAMES, st.sampled_from(["p", "$D"])),
    forward_yaml=st.booleans(),
    forward_pipeline=st.booleans(),
)
def test_exactly_the_names_that_shall_go_down_do(
    yaml: dict[str, str], pipeline: dict[str, str], forward_yaml: bool, forward_pipeline: bool
) -> None:
    bridge = Scope(
        yaml={key: Variable(value) for key, value in yaml.items()},
        pipeline=tuple(JobVariable(key, value) for key, value in pipeline.items()),
    )
    found = handed(forwarded(bridge, yaml=forward_yaml, pipeline=forward_pipeline))
    expected = {**(yaml if forward_yaml else {}), **(pipeline if forward_pipeline else {})}
    assert found == {key: value.replace("$D", "") for key, value in expected.items()}


def test_texts_are_expanded_by_all_variables() -> None:
    assert scope(TEAM="acme").expanded("$TEAM/tool", "$ASKED", "") == ("acme/tool", "for-main", "")


def test_a_child_includes_its_files_each_with_the_inputs_of_the_trigger() -> None:
    files: list[dict[str, Any]] = [{"local": "a.yml"}, {"local": "b.yml", "inputs": {"level": 2}}]
    assert child_configuration(files, {}) == {"include": files}
    assert child_configuration(files, {"level": 1, "name": "x"}) == {
        "include": [
            {"local": "a.yml", "inputs": {"level": 1, "name": "x"}},
            {"local": "b.yml", "inputs": {"level": 2, "name": "x"}},
        ]
    }
