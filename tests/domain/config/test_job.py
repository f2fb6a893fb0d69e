"""Keywords of one job: what they become, and what is said when they are wrong."""

from dataclasses import replace
from typing import Any

import pytest

from domain.config.plan import Artifacts, Image, JobPlan, RetryPolicy, Variable, When
from domain.config.why import PRESENT
from domain.errors import PipelineFiltered
from tests.domain.config.short_texts import issues, job, messages, plan


def test_every_default_is_filled_in() -> None:
    made = plan("alpha: {script: make}")
    assert made.stages == ("test",)
    assert [replace(job, why=PRESENT) for job in made.jobs] == [JobPlan(name="alpha", stage="test", script=("make",))]


@pytest.mark.parametrize(
    ("keywords", "field", "value"),
    [
        ("before_script: [a, [b, [c]]]", "before_script", ("a", "b", "c")),
        ("after_script: bye", "after_script", ("bye",)),
        ("stage: deploy", "stage", "deploy"),
        ("stage: .pre", "stage", ".pre"),
        ("when: always", "when", When.ALWAYS),
        ("when: manual", "allow_failure", True),
        ("when: manual, allow_failure: false", "allow_failure", False),
        ("when: manual, allow_failure: {exit_codes: 3}", "allow_failure", False),
        ("allow_failure: true", "allow_failure", True),
        ("allow_failure: {exit_codes: [1, 2]}", "allow_failure_exit_codes", (1, 2)),
        ("when: delayed, start_in: 10 minutes", "start_in", 600),
        ("when: delayed, start_in: '90'", "start_in", 90),
        ("timeout: 1h 30m", "timeout", 5400),
        ("retry: 2", "retry", RetryPolicy(2)),
        ("retry: {max: 1, when: api_failure, exit_codes: 7}", "retry", RetryPolicy(1, ("api_failure",), (7,))),
        ("retry: {max: 1, when: [always]}", "retry", RetryPolicy(1, ("always",))),
        ("tags: [a, b]", "tags", ("a", "b")),
        ("image: alpine", "image", Image("alpine")),
        ("image: {name: a, entrypoint: ['']}", "image", Image("a", entrypoint=("",))),
        ("image: {name: a, pull_policy: always}", "image", Image("a", pull_policy=("always",))),
        ("image: {name: a, docker: {user: 1000}}", "image", Image("a", docker={"user": "1000"})),
        ("image: {name: a, kubernetes: {user: me}}", "image", Image("a", kubernetes={"user": "me"})),
        ("variables: {A: 1, B: 1.50}", "variables", {"A": Variable("1"), "B": Variable("1.5")}),
        ("variables: {A: true, B: no}", "variables", {"A": Variable("true"), "B": Variable("false")}),
        ("variables: {A: {value: $B, expand: false}}", "variables", {"A": Variable("$B", raw=True)}),
        ("artifacts: {paths: [a], expire_in: 1 day}", "artifacts", Artifacts(("a",), expire_in="1 day")),
        ("artifacts: {untracked: true, expire_in: never}", "artifacts", Artifacts(untracked=True, expire_in="never")),
        (
            "artifacts: {name: n, exclude: [b], when: always, reports: {junit: r.xml}}",
            "artifacts",
            Artifacts(exclude=("b",), name="n", when="always", reports={"junit": ("r.xml",)}),
        ),
        ("needs: []", "needs", ()),
        ("dependencies: []", "dependencies", ()),
        ("tags: null, image: null, artifacts: null, variables: null", "tags", ()),
    ],
)
def test_read(keywords: str, field: str, value: Any) -> None:
    filler = "\nbeta: {script: y}"
    made = plan(f"alpha: {{script: x, {keywords}}}{filler}").jobs[0]
    assert getattr(made, field) == value


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ("stage: 1", "jobs:alpha:stage config should be a string"),
        ("when: never", "jobs:alpha when should be one of: on_success, on_failure, always, manual, delayed"),
        ("when: delayed", "jobs:alpha start in should be a duration"),
        ("when: delayed, start_in: 5", "jobs:alpha start in should be a duration"),
        ("when: delayed, start_in: 8 days", "jobs:alpha start in should not exceed the limit"),
        ("start_in: 5 minutes", "jobs:alpha start in must be blank"),
        ("allow_failure: sure", "jobs:alpha:allow_failure config should be a hash or a boolean value"),
        ("allow_failure: {codes: 1}", "jobs:alpha:allow_failure config contains unknown keys: codes"),
        ("allow_failure: {exit_codes: a}", "jobs:alpha:allow_failure exit codes should be an array of integers or"),
        ("timeout: 3600", "jobs:alpha:timeout config should be a duration"),
        ("timeout: 2 months", "jobs:alpha:timeout config should not exceed the limit"),
        ("retry: 3", "jobs:alpha:retry config must be less than or equal to 2"),
        ("retry: -1", "jobs:alpha:retry config must be greater than or equal to 0"),
        ("retry: a", "jobs:alpha:retry config has to be either an integer or a hash"),
        ("retry: {max: 1.5}", "jobs:alpha:retry max must be an integer"),
        ("retry: {max: true}", "jobs:alpha:retry max is not a number"),
        ("retry: {when: [bad_luck]}", "jobs:alpha:retry when contains unknown values: bad_luck"),
        ("retry: {when: bad_luck}", "jobs:alpha:retry when unknown value: bad_luck"),
        ("tags: a", "jobs:alpha:tags config should be an array of strings"),
        (f"tags: [{', '.join('a' * 50)}]", "jobs:alpha:tags config must be less than the limit of 50 tags"),
        ("image: [a]", "jobs:alpha:image config should be a hash or a string"),
        ("image: ''", "jobs:alpha:image config can't be blank"),
        ("image: {entrypoint: [a]}", "jobs:alpha:image name can't be blank"),
        ("image: {name: a, ports: [1]}", "jobs:alpha:image config contains unknown keys: ports"),
        ("image: {name: a, pull_policy: maybe}", "jobs:alpha:image:pull_policy config unknown value: maybe"),
        (
            "image: {name: a, pull_policy: [no-no]}",
            "jobs:alpha:image:pull_policy config contains unknown values: no-no",
        ),
        ("image: {name: a, docker: {gpu: 1}}", "jobs:alpha:image:docker config contains unknown keys: gpu"),
        ("image: {name: a, docker: {user: [1]}}", "jobs:alpha:image:docker user should be a string"),
        ("variables: [a]", "jobs:alpha:variables config should be a hash"),
        ("variables: {A: []}", "jobs:alpha:variables:A variable definition must be either a string or a hash"),
        ("variables: {A: {value: a, options: [a]}}", "jobs:alpha:variables:A config uses invalid data keys: options"),
        ("variables: {A: {value: [a]}}", "jobs:alpha:variables:A value must be an alphanumeric string"),
        ("variables: {A: {expand: maybe}}", "jobs:alpha:variables:A expand should be a boolean value"),
        ("artifacts: a", "jobs:alpha:artifacts config should be a hash"),
        ("artifacts: {path: [a]}", "jobs:alpha:artifacts config contains unknown keys: path"),
        ("artifacts: {paths: a}", "jobs:alpha:artifacts paths should be an array of strings"),
        ("artifacts: {untracked: a}", "jobs:alpha:artifacts untracked should be a boolean value"),
        ("artifacts: {expire_in: 7}", "jobs:alpha:artifacts expire in should be a duration"),
        ("artifacts: {when: manual}", "jobs:alpha:artifacts when should be one of: on_success, on_failure, always"),
        ("artifacts: {reports: {junit: 3}}", "jobs:alpha:artifacts:reports junit should be an array of strings or a"),
        ("artifacts: {reports: {xunit: a}}", "jobs:alpha:artifacts:reports config contains unknown keys: xunit"),
        ("needs: beta", "jobs:alpha:needs config can only be a hash or an array"),
        ("needs: [1]", "jobs:alpha:needs:need config has an unsupported type"),
        ("needs: ['']", "jobs:alpha:needs:need config can't be blank"),
        ("needs: [{artifacts: true}]", "jobs:alpha:needs:need job can't be blank"),
        ("needs: [{job: 1}]", "jobs:alpha:needs:need job should be a string"),
        ("needs: [{job: a, when: b}]", "jobs:alpha:needs:need config contains unknown keys: when"),
        (f"needs: [{'a' * 256}]", "jobs:alpha:needs:need config is too long (maximum is 255 characters)"),
        ("dependencies: a", "jobs:alpha dependencies should be an array of strings"),
        ("before_script: {a: b}", "jobs:alpha:before_script config should be a string or a nested array of strings"),
        (f"after_script: {'[' * 11}a{']' * 11}", "jobs:alpha:after_script config should be a string or a nested"),
        ("parallel: 0", "jobs:alpha:parallel config must be greater than or equal to 1"),
        ("parallel: 201", "jobs:alpha:parallel config must be less than or equal to 200"),
        ("parallel: two", "jobs:alpha:parallel config should be an integer or a hash"),
        ("foo: 1, bar: 2", "jobs:alpha config contains unknown keys: foo, bar"),
    ],
)
def test_refused(keywords: str, said: str) -> None:
    first, *more = messages(f"alpha: {{script: x, {keywords}}}")
    assert first.startswith(said)
    assert all("undefined need" in message for message in more)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour: red", "jobs:colour config should implement the script:, run:, or trigger: keyword"),
        ("a: null", "jobs:a config should implement the script:, run:, or trigger: keyword"),
        ("a: {stage: test}", "jobs:a config should implement the script:, run:, or trigger: keyword"),
        ("a: {needs: []}", "jobs:a config should contain either a trigger or a needs:pipeline, or a script"),
        ("a: {script: null}", "jobs:a script can't be blank"),
        ("a: {script: []}", "jobs:a script can't be blank"),
        ("a: {script: ' '}", "jobs:a script can't be blank"),
        ("a: {script: [1, 2]}", "jobs:a:script config should be a string or a nested array of strings up to 10 levels"),
        ("'': {script: x}", "jobs name can't be blank"),
        (f"{'a' * 256}: {{script: x}}", f"jobs:{'a' * 256} name is too long (maximum is 255 characters)"),
        ("'true': {script: x}", "jobs:true name is reserved; choose another one"),
        ("true: {script: x}", "jobs:true name should be text; put quotes around it"),
        ("'a': {script: x, variables: {1: b}}", "variables config: the name 1 should be text; put quotes around it"),
        ("a: {script: x}\n.h: null", "jobs:.h config can't be blank"),
        ("a: {script: x}\n.h: {}", "jobs:.h config can't be blank"),
        (".h: {script: x}", "jobs config should contain at least one visible job"),
        ("{}", "jobs config should contain at least one visible job"),
    ],
)
def test_what_is_no_job(text: str, said: str) -> None:
    found = messages(text)
    assert len(found) == 1
    assert found[0].startswith(said)


def test_a_configuration_with_jobs_at_the_edges_only_makes_no_pipeline() -> None:
    with pytest.raises(PipelineFiltered, match="The resulting pipeline would have been empty") as refused:
        plan("a: {script: x, stage: .pre}")
    assert refused.value.reason == "filtered_by_rules"


def test_default_is_copied_whole_where_the_job_lacks_the_key() -> None:
    one, two = plan(
        """
        default:
          image: base
          before_script: [prepare]
          artifacts: {paths: [a], expire_in: 1 day}
          retry: 1
        one: {script: x}
        two: {script: x, before_script: [], artifacts: {paths: [b]}, image: null, retry: 0}
        """
    ).jobs
    assert (one.image, one.before_script, one.retry.max) == (Image("base"), ("prepare",), 1)
    assert (two.image, two.before_script, two.retry.max) == (Image("base"), (), 0)
    assert two.artifacts == Artifacts(("b",))


def test_the_old_form_of_default_at_the_top() -> None:
    made = plan("image: old\nbefore_script: a\nafter_script: [b]\njob: {script: x}").jobs[0]
    assert (made.image, made.before_script, made.after_script) == (Image("old"), ("a",), ("b",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("default: {when: manual}", "default config contains unknown keys: when"),
        ("default: 1", "default config should be a hash"),
        ("default: {image: a}\nimage: b", "image is defined in top-level and `default:` entry"),
        ("default: {retry: 9}", "default:retry config must be less than or equal to 2"),
        ("image: [a]", "image config should be a hash or a string"),
        ("stages: build", "stages config should be an array of strings or a nested array of strings"),
        ("stages: [1]", "stages config should be an array of strings or a nested array of strings"),
        ("variables: 1", "variables config should be a hash"),
        ("variables: {T: {value: g, options: [s]}}", "variables:T config value must be present in options"),
        ("variables: {T: {value: g, options: s}}", "variables:T options should be an array of strings"),
        ("variables: {T: {value: g, description: [a]}}", "variables:T description should be a string"),
        ("variables: {T: {value: g, name: a}}", "variables:T config uses invalid data keys: name"),
    ],
)
def test_what_is_wrong_at_the_top(text: str, said: str) -> None:
    found = messages(f"{text}\njob: {{script: x}}")
    assert len(found) == 1
    assert found[0].startswith(said)


def test_stages_are_flat_single_and_between_the_edges() -> None:
    made = plan(
        """
        stages: [.post, two, [one, two], .pre, unused]
        d: {stage: .post, script: x}
        c: {stage: one, script: x}
        b: {stage: two, script: x}
        a: {stage: .pre, script: x}
        """
    )
    assert made.stages == (".pre", "two", "one", ".post")
    assert [job.name for job in made.jobs] == ["d", "c", "b", "a"]


def test_variables_of_the_job_win_over_those_of_the_top() -> None:
    made = plan(
        """
        variables: {A: top, B: {value: top, description: words, options: [top], expand: false}, E: {description: d}}
        alpha: {script: x, variables: {A: own}, parallel: {matrix: [{A: [m]}]}}
        beta: {script: x, variables: {A: own}}
        gamma: {script: x}
        """
    ).jobs
    values = [{name: variable.value for name, variable in job.variables.items()} for job in made]
    assert values == [{"A": who, "B": "top", "E": ""} for who in ("m", "own", "top")]
    assert made[2].variables["B"].raw


def test_all_issues_come_at_once_in_the_order_of_the_text() -> None:
    found = issues(
        """\
        zeta:
          script: x
          retry: 9
          needs: [ghost]
        alpha:
          stage: fly
          when: never
          script: x
        default: {unknown: 1}
        """
    )
    assert [(issue.line, issue.path) for issue in found] == [
        (3, "jobs:zeta:retry"),
        (4, "jobs:zeta:needs"),
        (6, "jobs:alpha:stage"),
        (7, "jobs:alpha:when"),
        (9, "default"),
    ]


def test_a_fault_that_jobs_share_is_told_once() -> None:
    shared = ".base: {script: [1]}\na: {extends: .base}\nb: {extends: .base}"
    assert [issue.path for issue in issues(shared)] == ["jobs:a:script"]


def test_very_many_issues_and_very_long_ones_are_cut() -> None:
    found = issues("\n".join(f"j{number}: {{script: x, retry: {{when: {'k' * 1500}}}}}" for number in range(1001)))
    assert len(found) == 1000
    assert max(len(issue.message) for issue in found) == 1003


def test_the_file_is_named() -> None:
    assert {issue.file for issue in issues("a: 1")} == {".gitlab-ci.yml"}


def test_a_matrix_value_is_a_variable() -> None:
    assert job("parallel: {matrix: [{OS: linux}]}").variables == {"OS": Variable("linux")}


def test_what_is_no_job_has_no_stage_to_complain_about() -> None:
    assert len(messages("stages: [one]\na: 1\nb: {script: x, stage: one}")) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {script: x, needs: [{pipeline: g/p}]}", "jobs:a:needs config uses invalid types: bridge"),
        (
            "a: {trigger: g/p, needs: [{pipeline: '1', job: b}]}",
            "jobs:a:needs config uses invalid types: cross_",
        ),
        (
            "a: {trigger: g/p, needs: {pipeline: g/p}}",
            "jobs:a config should contain either a trigger or a",
        ),
        ("a: {trigger: g/p, script: x}", "jobs:a config contains unknown keys: trigger"),
        ("a: {trigger: null}", "jobs:a:trigger config can't be blank"),
        ("a: {trigger: g/p, when: delayed}", "jobs:a when should be one of: on_success, on_failure, always, manual"),
        ("a: {trigger: g/p, allow_failure: {exit_codes: 1}}", "jobs:a allow failure should be a boolean value"),
        ("a: {trigger: g/p, parallel: 2}", 'jobs:a:parallel config cannot use "parallel: <number>"'),
        ("a: {trigger: g/p, tags: [x]}", "jobs:a config contains unknown keys: tags"),
        (
            "a: {run: [{name: x, script: y}], script: z}",
            "jobs:a config these keys cannot be used together: run",
        ),
        (
            "a: {script: x, rules: [{when: always}], only: [main]}",
            "jobs:a config key may not be used with `rules`",
        ),
        ("a: {script: x, publish: site}", "jobs:a publish can only be used within a `pages` job"),
    ],
)
def test_what_does_not_go_together(text: str, said: str) -> None:
    assert any(message.startswith(said) for message in messages(text))


@pytest.mark.parametrize("needs", ["{pipeline: g/p}", "[{pipeline: g/p}]"])
def test_a_job_that_mirrors_a_pipeline_has_nothing_to_run(needs: str) -> None:
    (made,) = plan(f"a: {{needs: {needs}}}").jobs
    assert (made.script, made.foreign_needs[0].pipeline, made.needs) == ((), "g/p", None)
