"""The payload of a job: every field has the type that a strict runner decodes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from api.runner.payloads.artifacts import REPORTS
from domain.config import keywords
from domain.config.plan import (
    Artifacts,
    Cache,
    CacheKey,
    CoverageReport,
    Environment,
    Image,
    Service,
    Variable,
)
from domain.errors import Invalid
from domain.variables.environment_variables import environment_slug
from tests.api.runner.handing_out import SHA, built, handed_out, job_plan, payload_of, values_of

ABSENT = {"secrets", "id_tokens", "run"}
"""Fields that a payload of an ordinary job must not have."""

EVERYTHING = {
    "before_script": ("cd app",),
    "after_script": ("rm -r tmp",),
    "image": Image("ruby:$V", ("/bin/sh", "-c"), ("always",), {"platform": "arm64"}, {"user": "1"}),
    "services": (
        Service(Image("postgres:16", docker={"user": "pg"}), "db,database", ("-c", "x"), {"A": Variable("$B", True)}),
    ),
    "cache": (Cache(CacheKey("gems"), ("vendor/",), fallback_keys=("old",)),),
    "artifacts": Artifacts(paths=("out/",), reports={"junit": ("r.xml",)}),
    "hooks": {"pre_get_sources_script": ("echo before", "echo git")},
    "inputs": {"level": {"type": "number", "default": 3}},
    "environment": Environment("production"),
}

TYPES = {
    "id": int,
    "token": str,
    "allow_git_fetch": bool,
    "job_info": dict,
    "git_info": dict,
    "runner_info": dict,
    "inputs": list,
    "variables": list,
    "steps": list,
    "services": list,
    "hooks": list,
    "artifacts": list,
    "cache": list,
    "credentials": list,
    "dependencies": list,
    "features": dict,
}


@pytest.mark.parametrize("fields", [{}, EVERYTHING])
def test_every_field_has_its_type(fields: dict[str, Any]) -> None:
    payload = built(**fields)
    assert {name: type(payload[name]) for name in TYPES} == TYPES
    assert payload.keys() - TYPES.keys() == {"image"}
    assert payload.keys() & ABSENT == set()


def test_a_plain_job_asks_for_nothing() -> None:
    payload = built()
    empty = ("inputs", "services", "hooks", "artifacts", "cache", "credentials", "dependencies")
    assert [payload[name] for name in empty] == [[]] * len(empty)
    assert payload["image"] is None
    (step,) = payload["steps"]
    assert (step["name"], step["script"], step["when"], step["allow_failure"]) == (
        "script",
        ["make"],
        "on_success",
        False,
    )


def test_an_image_comes_as_it_was_written() -> None:
    assert built(**EVERYTHING)["image"] == {
        "name": "ruby:$V",
        "alias": "",
        "entrypoint": ["/bin/sh", "-c"],
        "command": [],
        "ports": [],
        "pull_policy": ["always"],
        "executor_opts": {"docker": {"platform": "arm64"}, "kubernetes": {"user": "1"}},
    }


def test_a_service_has_its_own_command_alias_and_variables() -> None:
    (service,) = built(**EVERYTHING)["services"]
    assert service == {
        "name": "postgres:16",
        "alias": "db,database",
        "entrypoint": [],
        "command": ["-c", "x"],
        "ports": [],
        "pull_policy": [],
        "executor_opts": {"docker": {"user": "pg"}},
        "variables": [{"key": "A", "value": "$B", "public": True, "masked": False, "file": False, "raw": True}],
    }


def test_hooks_are_scripts_by_name() -> None:
    hooks = built(**EVERYTHING)["hooks"]
    assert hooks == [{"name": "pre_get_sources_script", "script": ["echo before", "echo git"]}]


def test_job_inputs_come_with_their_defaults() -> None:
    assert built(**EVERYTHING)["inputs"] == [
        {"key": "level", "value": {"type": "number", "content": 3, "sensitive": False}}
    ]


def test_steps_of_run_are_one_text_and_come_without_scripts() -> None:
    steps = ({"name": "hello", "script": "echo $X", "env": {"A": "ä"}}, {"name": "two", "step": "./s"})
    payload = built(script=(), run=steps)
    assert payload["steps"] == []
    assert isinstance(payload["run"], str)
    assert json.loads(payload["run"]) == list(steps)


def test_an_identity_stays_out() -> None:
    assert built(identity="google_cloud").keys() & ABSENT == set()


def test_a_secret_says_where_it_is_and_who_asks_for_it() -> None:
    vault = {"engine": {"name": "kv-v2", "path": "ops"}, "path": "$ENV/db", "field": "password"}
    variables = {"ENV": Variable("production"), "TOKEN": Variable("a.b.c"), "VAULT_SERVER_URL": Variable("https://v")}
    payload = built(secrets={"PASSWORD": {"vault": vault, "token": "$TOKEN", "file": False}}, variables=variables)
    server = {
        "url": "https://v",
        "namespace": "",
        "auth": {"name": "jwt", "path": "jwt", "data": {"jwt": "a.b.c", "role": ""}},
    }
    assert payload["secrets"] == {
        "PASSWORD": {"vault": {**vault, "path": "production/db", "server": server}, "file": False}
    }
    assert "PASSWORD" not in values_of(payload)


@pytest.mark.parametrize(
    ("asked", "depth"), [("7", 7), ("0", 0), ("", 20), ("-1", 20), ("many", 20), ("\u0663", 20), ("9" * 12, 20)]
)
def test_whoever_starts_the_pipeline_may_say_how_much_history_is_fetched(asked: str, depth: int) -> None:
    plan = job_plan(variables={"GIT_DEPTH": Variable("50")})
    assert payload_of(handed_out(plan))["git_info"]["depth"] == 50
    assert payload_of(handed_out(plan, variables={"GIT_DEPTH": asked}))["git_info"]["depth"] == depth


WHOLE = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"]


@pytest.mark.parametrize(
    ("ref", "tag", "moving"),
    [
        ("feature/a", False, ["+refs/heads/feature/a:refs/remotes/origin/feature/a"]),
        ("v1", True, ["+refs/tags/v1:refs/tags/v1"]),
        ("refs/merge-requests/7/head", False, []),
        ("refs/merge-requests/7/merge", False, []),
    ],
)
def test_the_whole_history_comes_with_all_branches_and_tags(ref: str, tag: bool, moving: list[str]) -> None:
    for depth, more in (("0", WHOLE), ("1", moving)):
        hand_out = handed_out(job_plan(), ref=ref, variables={"GIT_DEPTH": depth})
        tagged = replace(hand_out, pipeline=replace(hand_out.pipeline, tag=tag))
        assert payload_of(tagged)["git_info"]["refspecs"] == [f"+{SHA}:refs/pipelines/70", *more]


def test_a_job_without_address_or_tier_is_told_those_of_its_environment() -> None:
    there: dict[str, Any] = {"environment_url": "https://shop.example/$HOME?a%20b", "environment_tier": "staging"}
    hand_out = replace(handed_out(job_plan(environment=Environment("prod", action="stop"))), **there)
    found = values_of(payload_of(hand_out))
    assert found["CI_ENVIRONMENT_URL"] == there["environment_url"]
    assert (found["CI_ENVIRONMENT_TIER"], found["CI_ENVIRONMENT_ACTION"]) == ("staging", "stop")
    written = Environment("prod", url="https://new.example/$CI_COMMIT_REF_SLUG", deployment_tier="testing")
    found = values_of(payload_of(replace(handed_out(job_plan(environment=written)), **there)))
    assert (found["CI_ENVIRONMENT_URL"], found["CI_ENVIRONMENT_TIER"]) == ("https://new.example/main", "testing")
    assert "CI_ENVIRONMENT_URL" not in values_of(built(environment=Environment("prod", action="stop")))


def test_the_runner_is_told_how_busy_it_is() -> None:
    info = built()["job_info"]
    assert (info["project_jobs_running_on_instance_runners_count"], info["queue_size"]) == ("2", 6)


def test_at_most_fifteen_prefixes_are_masked() -> None:
    assert 0 < len(built()["features"]["token_mask_prefixes"]) <= 15


def test_an_archive_and_each_report_are_uploads_of_their_own() -> None:
    artifacts = Artifacts(
        paths=("out/", "log"),
        exclude=("out/tmp",),
        untracked=True,
        name="$CI_JOB_NAME",
        when="on_failure",
        expire_in="1 week",
        reports={"junit": ("a.xml", "b.xml"), "dotenv": ("vars.env",), "sast": ("s.json",)},
        coverage_report=CoverageReport("jacoco", "cov.xml"),
    )
    archive, *reports = built(artifacts=artifacts)["artifacts"]
    assert archive == {
        "name": "$CI_JOB_NAME",
        "untracked": True,
        "paths": ["out/", "log"],
        "exclude": ["out/tmp"],
        "when": "on_failure",
        "artifact_type": "archive",
        "artifact_format": "zip",
        "expire_in": "1 week",
    }
    assert [(one["artifact_type"], one["artifact_format"], one["name"], one["paths"]) for one in reports] == [
        ("junit", "gzip", "junit.xml", ["a.xml", "b.xml"]),
        ("dotenv", "gzip", ".env", ["vars.env"]),
        ("sast", "raw", "gl-sast-report.json", ["s.json"]),
        ("jacoco", "gzip", "jacoco-coverage.xml", ["cov.xml"]),
    ]
    assert {(one["when"], one["expire_in"], one["untracked"]) for one in reports} == {("always", "1 week", False)}


def test_reports_alone_make_no_archive() -> None:
    (upload,) = built(artifacts=Artifacts(exclude=("x",), reports={"lsif": ("dump",)}))["artifacts"]
    assert (upload["artifact_type"], upload["artifact_format"]) == ("lsif", "zip")


def test_the_table_of_reports_is_that_of_the_keywords() -> None:
    assert REPORTS.keys() == (keywords.REPORTS - {"coverage_report"}) | {"cobertura", "jacoco"}


def test_the_environment_is_named_by_its_expanded_name() -> None:
    environment = Environment("review/$CI_COMMIT_REF_SLUG", "https://$CI_ENVIRONMENT_SLUG.$DOMAIN", action="prepare")
    variables = {"DOMAIN": Variable("example.com"), "NOTE": Variable("see $CI_ENVIRONMENT_URL")}
    plan = job_plan(environment=environment, variables=variables)
    found = values_of(payload_of(handed_out(plan, ref="Add_Cart")))
    slug = environment_slug("review/add-cart")
    assert {key: value for key, value in found.items() if key.startswith("CI_ENVIRONMENT")} == {
        "CI_ENVIRONMENT_NAME": "review/add-cart",
        "CI_ENVIRONMENT_SLUG": slug,
        "CI_ENVIRONMENT_URL": f"https://{slug}.example.com",
        "CI_ENVIRONMENT_ACTION": "prepare",
        "CI_ENVIRONMENT_TIER": "development",
    }
    assert found["NOTE"] == f"see https://{slug}.example.com"


def test_a_given_tier_counts_and_the_environment_wins_over_other_variables() -> None:
    plan = job_plan(
        environment=Environment("$NAME", deployment_tier="other"),
        variables={"NAME": Variable("prod-$CI_ENVIRONMENT_NAME"), "CI_ENVIRONMENT_NAME": Variable("mine")},
    )
    found = values_of(payload_of(handed_out(plan, variables={"CI_ENVIRONMENT_TIER": "staging"})))
    assert found["CI_ENVIRONMENT_NAME"] == "prod-mine"
    assert found["CI_ENVIRONMENT_TIER"] == "other"
    assert "CI_ENVIRONMENT_URL" not in found


def test_without_an_environment_there_are_no_variables_of_one() -> None:
    assert [key for key in values_of(built()) if key.startswith("CI_ENVIRONMENT")] == []


def test_the_name_of_the_pipeline_is_known_to_its_jobs() -> None:
    assert values_of(built())["CI_PIPELINE_NAME"] == "Nightly"


def test_variables_that_run_in_circles_are_an_error() -> None:
    with pytest.raises(Invalid, match="circular variable reference"):
        built(variables={"A": Variable("$B"), "B": Variable("$A")}, environment=Environment("$A"))
