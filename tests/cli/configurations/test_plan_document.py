"""`perdure plan --json`."""

import json
from typing import Any

import pytest

from cli.configurations.plan_document import FIELDS, document, duration_text, job_document
from domain.config.issue import ConfigIssue
from domain.config.plan import (
    Artifacts,
    Cache,
    CacheKey,
    CoverageReport,
    Environment,
    ForeignNeed,
    Image,
    JobPlan,
    RetryPolicy,
    Service,
    Trigger,
    Variable,
    When,
)
from domain.config.reading.durations import parse_duration
from domain.errors import ConfigInvalid, PipelineFiltered
from tests.cli.plans import NO_TAG, absent, job, needs, outcome, plan

SINGLE: list[tuple[dict[str, Any], str, Any]] = [
    ({"when": When.DELAYED, "start_in": 5400}, "start_in", "1 hour 30 minutes"),
    ({"timeout": 90}, "timeout", 90),
    ({"needs": ()}, "needs", []),
    (
        {"needs": needs("a", artifacts=False, optional=True)},
        "needs",
        [{"name": "a", "artifacts": False, "optional": True}],
    ),
    (
        {"foreign_needs": (ForeignNeed(job="a", project="g/p"),)},
        "foreign_needs",
        [{"job": "a", "artifacts": True, "optional": False, "pipeline": "", "project": "g/p", "ref": ""}],
    ),
    ({"allow_failure_exit_codes": (1, 2)}, "allow_failure_criteria", {"exit_codes": [1, 2]}),
    ({"image": Image("ruby")}, "image", "ruby"),
    ({"image": Image("ruby")}, "image_options", None),
    ({"image": Image("ruby", pull_policy=("always",))}, "image_options", {"pull_policy": ["always"]}),
    ({"variables": {"A": Variable("1")}}, "variables", {"A": "1"}),
    ({"retry": RetryPolicy(2, ("always",))}, "retry", {"max": 2, "when": ["always"], "exit_codes": []}),
    (
        {"environment": Environment("prod", url="https://x")},
        "environment",
        {
            "name": "prod",
            "url": "https://x",
            "action": "start",
            "on_stop": None,
            "auto_stop_in": None,
            "deployment_tier": None,
            "kubernetes": None,
        },
    ),
    ({"dependencies": ()}, "dependencies", []),
    ({"interruptible": False}, "interruptible", False),
]


@pytest.mark.parametrize(("fields", "name", "value"), SINGLE)
def test_field(fields: dict[str, Any], name: str, value: Any) -> None:
    assert job_document(job("a", **fields))[name] == value


def test_what_is_not_set_is_null() -> None:
    found = job_document(job("a"))
    set_ones = {name for name, value in found.items() if value is not None}
    assert set_ones == {"name", "stage", "when", "allow_failure", "script", "variables", "foreign_needs", "why"}


def test_every_field_of_a_job_is_told() -> None:
    merged = {"allow_failure_exit_codes": "allow_failure_criteria"}
    expected = {merged.get(name, name) for name in JobPlan.__slots__} - {"name"}
    assert expected <= FIELDS.keys()


def test_cache() -> None:
    files = Cache(CacheKey(files=("a.lock",), prefix="p"), paths=("x",))
    found = job_document(job("a", cache=(Cache(), files)))["cache"]
    assert [one["key"] for one in found] == ["default", {"files": ["a.lock"], "prefix": "p"}]
    assert found[1]["paths"] == ["x"]


def test_trigger() -> None:
    found = job_document(job("a", trigger=Trigger("g/p", "dev", strategy="depend")))["trigger"]
    assert found["project"] == "g/p"
    assert found["forward"] == {"yaml_variables": True, "pipeline_variables": False}
    assert found["include"] is None


def test_services_and_artifacts() -> None:
    report = CoverageReport("cobertura", "c.xml")
    artifacts = Artifacts(paths=("out",), reports={"junit": ("j.xml",)}, coverage_report=report)
    found = job_document(job("a", services=(Service(Image("db"), alias="d"),), artifacts=artifacts))
    assert (found["services"][0]["name"], found["services"][0]["alias"]) == ("db", "d")
    assert found["artifacts"]["reports"] == {
        "junit": ["j.xml"],
        "coverage_report": {"coverage_format": "cobertura", "path": "c.xml"},
    }


def test_pipeline_with_absent_jobs() -> None:
    warning = ConfigIssue("deprecated", "jobs:a", ".gitlab-ci.yml", 3, 1)
    found = document(outcome(plan(job("a", "build"), name="N", absent=(absent("b"),), warnings=(warning,))))
    assert found["pipeline"]["name"] == "N"
    assert (found["pipeline"]["status"], found["pipeline"]["failure_reason"]) == ("created", None)
    assert (found["pipeline"]["source"], found["pipeline"]["ref"]) == ("push", "main")
    assert found["stages"] == ["build"]
    assert found["absent"][0]["why"]["tried"][0]["values"] == {"CI_COMMIT_TAG": None}
    assert found["warnings"] == [
        {"file": ".gitlab-ci.yml", "line": 3, "column": 1, "path": "jobs:a", "message": "deprecated"}
    ]
    assert json.loads(json.dumps(found)) == found


def test_errors_keep_the_form() -> None:
    error = ConfigInvalid((ConfigIssue("bad", "jobs:a", "x.yml", 1, 2),))
    found = document(outcome(error=error))
    assert found.keys() == document(outcome(plan(job("a")))).keys()
    assert (found["pipeline"]["status"], found["pipeline"]["failure_reason"]) == (None, "config_error")
    assert found["errors"] == [{"file": "x.yml", "line": 1, "column": 2, "path": "jobs:a", "message": "bad"}]
    assert json.loads(json.dumps(found)) == found


def test_a_filtered_pipeline_tells_why_each_job_is_absent() -> None:
    left = plan(absent=(absent("b"),))
    found = document(outcome(left, error=PipelineFiltered("empty", "filtered_by_rules", left)))
    assert found["pipeline"]["failure_reason"] == "filtered_by_rules"
    assert found["errors"][0]["message"] == "empty"
    assert found["absent"][0]["why"]["text"] == NO_TAG.text


@pytest.mark.parametrize("seconds", [1, 59, 60, 5400, 86_400, 604_799, 90_061])
def test_durations_can_be_read_again(seconds: int) -> None:
    assert parse_duration(duration_text(seconds)) == seconds
