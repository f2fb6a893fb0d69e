"""Which jobs are in for an event, with which values, and why."""

from textwrap import dedent
from typing import Any

import pytest

from domain.config.compile import compile_config
from domain.config.plan import AutoCancel, JobPlan, Plan
from domain.config.sources import ChangedPaths, Tree, Wanted
from domain.config.why import HIDDEN
from domain.errors import PipelineFiltered
from tests.compiling import context_of, plan_of
from tests.domain.config.short_texts import issues, messages, plan


def job_of(made: Plan, name: str) -> JobPlan:
    """The job of a plan."""
    return next(job for job in made.jobs if job.name == name)


def values(job: JobPlan) -> dict[str, str]:
    """The variables of a job."""
    return {name: variable.value for name, variable in job.variables.items()}


RULES = """
    a: {script: x, rules: [{if: $CI_COMMIT_TAG}, {if: '$KIND == "big"', when: manual}]}
    b: {script: x}
    """


def test_a_job_that_is_in_says_which_rule_put_it_there_and_what_that_saw() -> None:
    why = job_of(plan_of(dedent(RULES), variables={"KIND": "big"}), "a").why
    assert (why.included, why.clause) == (True, "rules[1]")
    assert why.text == "`rules[1]` matched, and it says `when: manual`"
    first, second = why.tried
    assert (first.name, first.matched, first.values) == ("rules[0]", False, {"CI_COMMIT_TAG": None})
    assert (second.expression, second.values, second.line) == ('if: $KIND == "big"', {"KIND": "big"}, 2)


def test_a_job_that_is_out_says_what_was_tried() -> None:
    made = plan_of(dedent(RULES))
    (absent,) = made.absent
    assert (absent.name, absent.stage, absent.why.clause) == ("a", "test", "rules")
    assert absent.why.text == "no item of `rules` matched"
    assert [clause.matched for clause in absent.why.tried] == [False, False]


def test_a_masked_value_is_used_and_not_shown() -> None:
    context = context_of(variables={"KIND": "big"})
    hidden = type(context)(**{**_fields(context), "hidden": frozenset({"KIND"})})
    made = compile_config(dedent(RULES), hidden)
    assert isinstance(made, Plan)
    assert job_of(made, "a").why.tried[1].values == {"KIND": HIDDEN}


def _fields(context: Any) -> dict[str, Any]:
    return {name: getattr(context, name) for name in context.__slots__}


def test_a_plain_job_is_in_for_branches_and_out_for_merge_requests() -> None:
    assert [job.name for job in plan("a: {script: x}").jobs] == ["a"]
    with pytest.raises(PipelineFiltered) as refused:
        plan_of("a: {script: x}", source="merge_request_event")
    assert refused.value.plan.absent[0].why.clause == "default only"


def test_values_of_rule_and_job() -> None:
    made = plan(
        """
        variables: {A: root, B: root, C: root, D: root}
        workflow: {rules: [{if: $CI_COMMIT_BRANCH, variables: {B: workflow, C: workflow, D: workflow}}]}
        a:
          script: x
          variables: {C: job, D: job}
          rules: [{if: $CI_COMMIT_BRANCH, variables: {D: rule}, when: delayed, start_in: 1 minute, interruptible: true}]
        b: {script: x}
        """
    )
    one = job_of(made, "a")
    assert values(one) == {"A": "root", "B": "workflow", "C": "job", "D": "rule"}
    assert (one.when, one.start_in, one.interruptible) == ("delayed", 60, True)
    assert values(job_of(made, "b")) == {"A": "root", "B": "workflow", "C": "workflow", "D": "workflow"}
    assert made.why.clause == "workflow:rules[0]"


@pytest.mark.parametrize(
    ("job", "rule", "expected"),
    [
        ("", "when: manual", False),
        ("when: manual", "when: on_success", True),
        ("allow_failure: true", "when: manual", True),
        ("allow_failure: true", "allow_failure: false", False),
        ("allow_failure: {exit_codes: 3}", "allow_failure: true", True),
    ],
)
def test_whether_a_job_may_fail(job: str, rule: str, expected: bool) -> None:
    made = plan(f"a: {{script: x, {job}{', ' if job else ''}rules: [{{{rule}}}]}}")
    assert (made.jobs[0].allow_failure, made.jobs[0].allow_failure_exit_codes) == (expected, ())


def test_exit_codes_stay_unless_the_rule_says_otherwise() -> None:
    made = plan("a: {script: x, allow_failure: {exit_codes: 3}, rules: [{when: always}]}")
    assert made.jobs[0].allow_failure_exit_codes == (3,)


def test_instances_of_a_matrix_are_chosen_singly() -> None:
    made = plan(
        """
        a:
          script: x
          parallel: {matrix: [{OS: [linux, mac]}]}
          rules: [{if: $OS == "linux"}]
        """
    )
    assert [job.name for job in made.jobs] == ["a: [linux]"]
    assert [job.name for job in made.absent] == ["a: [mac]"]


def test_a_parallel_job_that_is_out_is_told_once() -> None:
    made = plan("a: {script: x, parallel: 3, rules: [{if: $NOPE}]}\nb: {script: y}")
    assert [job.name for job in made.absent] == ["a"]


def test_a_rule_sees_the_job_that_it_is_of() -> None:
    made = plan("a b: {script: x, stage: build, rules: [{if: $CI_JOB_NAME_SLUG == 'a-b' && $CI_JOB_STAGE == 'build'}]}")
    assert [job.name for job in made.jobs] == ["a b"]


def test_a_need_that_is_out_is_named_with_the_reason() -> None:
    said = messages("a: {stage: build, script: x, rules: [{if: $NOPE}]}\nb: {script: x, needs: [a]}")
    assert len(said) == 1
    assert said[0].startswith("'b' job needs 'a' job, but 'a' does not exist in the pipeline.")
    assert said[0].endswith("Here: no item of `rules` matched")


@pytest.mark.parametrize("needs", ["[{job: a, optional: true}]", "[{job: a, optional: true}, c]"])
def test_an_optional_need_that_is_out_disappears(needs: str) -> None:
    made = plan(
        f"a: {{stage: build, script: x, rules: [{{if: $NOPE}}]}}\nc: {{stage: build, script: x}}\n"
        f"b: {{script: x, needs: {needs}}}"
    )
    assert "a" not in [need.job for need in job_of(made, "b").needs or ()]


def test_a_need_that_is_out_does_not_matter_to_a_job_that_is_out_too() -> None:
    made = plan(
        "a: {script: x, rules: [{if: $NOPE}]}\nb: {script: x, needs: [a], rules: [{if: $NOPE}]}\nc: {script: x}"
    )
    assert [job.name for job in made.jobs] == ["c"]


def test_one_job_needs_at_most_fifty_others() -> None:
    jobs = "".join(f"j{number}: {{stage: build, script: x}}\n" for number in range(51))
    needs = ", ".join(f"j{number}" for number in range(51))
    said = messages(f"{jobs}a: {{script: x, needs: [{needs}]}}")
    assert said == ["a job: one job can only need 50 others, but you have listed 51"]
    out = f"{jobs}a: {{script: x, needs: [{needs}], rules: [{{if: $NOPE}}]}}"
    assert len(plan(out).jobs) == 51


def test_the_needs_of_a_rule_take_the_place_of_the_jobs_own_and_may_not_go_round() -> None:
    text = "a: {script: x, rules: [{needs: [b]}]}\nb: {script: x, needs: [c], rules: [{needs: [a]}]}\nc: {script: x}"
    assert any("circular dependencies" in message for message in messages(text))
    made = plan("a: {script: x, needs: [c], rules: [{needs: [b]}]}\nb: {script: x}\nc: {script: x}")
    assert [need.job for need in job_of(made, "a").needs or ()] == ["b"]


def test_dependencies_that_are_out_are_left_out() -> None:
    made = plan(
        "a: {stage: build, script: x, rules: [{if: $NOPE}]}\nb: {stage: build, script: x}\n"
        "c: {script: x, dependencies: [a, b]}"
    )
    assert job_of(made, "c").dependencies == ("b",)


def test_the_workflow_decides_first() -> None:
    text = "workflow: {rules: [{if: $CI_COMMIT_TAG}]}\na: {script: x}"
    with pytest.raises(PipelineFiltered, match="Pipeline filtered out by workflow rules") as refused:
        plan(text)
    assert refused.value.reason == "filtered_by_workflow_rules"
    assert plan_of(text, kind="tag", ref="v1").why.clause == "workflow:rules[0]"


def test_name_and_cancellation_of_the_pipeline() -> None:
    made = plan(
        """
        variables: {WHO: "the $CI_COMMIT_BRANCH branch"}
        workflow:
          name: 'Build of $WHO$NOTHING'
          auto_cancel: {on_new_commit: none}
          rules: [{auto_cancel: {on_job_failure: all}}]
        a: {script: x}
        """
    )
    assert made.name == "Build of the main branch"
    assert made.auto_cancel == AutoCancel(on_new_commit="none", on_job_failure="all")


def test_what_is_not_known_is_wanted_once() -> None:
    text = "a: {script: x, rules: [{changes: [a]}]}\nb: {script: x, rules: [{exists: [a], changes: [b]}]}"
    wanted = compile_config(text, context_of())
    assert wanted == Wanted((ChangedPaths(), Tree()))
    made = plan_of(text, changed=["a"], files={"a": ""})
    assert [job.name for job in made.jobs] == ["a"]


def test_every_job_is_in_when_nothing_is_to_be_decided() -> None:
    text = "workflow: {rules: [{when: never}]}\na: {script: x, rules: [{when: never}]}\nb: {script: x, needs: [a]}"
    made = compile_config(text, context_of(), every_job=True)
    assert isinstance(made, Plan)
    assert [job.name for job in made.jobs] == ["a", "b"]


def test_a_plan_says_what_it_depends_on() -> None:
    made = plan("a: {script: x, rules: [{if: $A == $CI_PIPELINE_IID}, {changes: [a]}]}")
    assert made.reads == {"A", "CI_PIPELINE_IID"}
    assert made.lasting
    assert not plan("a: {script: x, rules: [{changes: {paths: [a], compare_to: other}}]}").lasting


def test_tags_are_expanded_and_what_is_unknown_stays() -> None:
    made = plan_of(
        "a: {script: x, variables: {SIZE: big}, tags: ['$SIZE-$KIND', '${NOPE}']}", variables={"KIND": "arm"}
    )
    assert made.jobs[0].tags == ("big-arm", "${NOPE}")


def test_variables_in_a_circle_are_named() -> None:
    said = messages("a: {script: x, variables: {A: $B, B: $A, C: $C}}")
    assert len(said) == 1
    assert "a job: circular variable reference detected: [A, B]" in said[0]


def test_what_is_inherited() -> None:
    made = plan(
        """
        variables: {A: a, B: b}
        default: {image: base, tags: [big], interruptible: true}
        a: {script: x, inherit: {default: [tags], variables: [B]}}
        b: {script: x, inherit: {default: false, variables: false}}
        c: {trigger: g/p}
        """
    )
    one, two, bridge = made.jobs
    assert (one.image, one.tags, values(one)) == (None, ("big",), {"B": "b"})
    assert (two.image, two.tags, two.interruptible, values(two)) == (None, (), None, {})
    assert (bridge.tags, bridge.interruptible, values(bridge)) == ((), True, {"A": "a", "B": "b"})


@pytest.mark.parametrize(
    ("name", "keywords", "paths"),
    [
        ("pages", "", ("public",)),
        ("pages", ", artifacts: {paths: [public]}", ("public",)),
        ("pages", ", publish: site", ("site",)),
        ("site", ", pages: {publish: out}, artifacts: {paths: [a]}", ("a", "out")),
        ("site", ", pages: true", ("public",)),
    ],
)
def test_what_a_job_publishes_is_among_its_artifacts(name: str, keywords: str, paths: tuple[str, ...]) -> None:
    made = plan(f"{name}: {{script: x{keywords}}}").jobs[0]
    assert made.pages is not None
    assert made.artifacts is not None
    assert made.artifacts.paths == paths


def test_a_job_called_pages_may_be_an_ordinary_one() -> None:
    made = plan("pages: {script: x, pages: false}").jobs[0]
    assert (made.pages, made.artifacts) == (None, None)


def test_a_ref_that_does_not_exist_is_named_where_it_is_compared_with() -> None:
    (issue,) = issues("a:\n  script: x\n  rules:\n    - if: $NOPE\n    - changes: {paths: [a], compare_to: gone}\n")
    assert (issue.line, issue.message) == (5, "a job: rules:changes:compare_to is not a valid ref")
