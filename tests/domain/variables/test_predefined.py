"""Variables of project and pipeline."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from domain.variables.predefined import EventFacts, MergeRequestFacts, pipeline_variables

FACTS = EventFacts(
    server_url="https://ci.example",
    project_id=7,
    project_name="Shop",
    project_path="acme/Web_1/shop",
    project_url="https://ci.example/acme/Web_1/shop",
    default_branch="main",
    pipeline_iid=3,
    pipeline_source="push",
    pipeline_created_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    ref="Feature/one",
    is_tag=False,
    ref_protected=False,
    sha="0123456789" * 4,
    before_sha="0" * 40,
    commit_message="Title\n\nMore",
    commit_author="Ann <ann@example.com>",
    commit_timestamp=datetime(2026, 1, 2, tzinfo=UTC),
)
REQUEST = MergeRequestFacts(iid=9, id=90, source_branch="Feature/one", target_branch="main", labels=("a", "b c"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("CI_SERVER_FQDN", "ci.example"),
        ("CI_PROJECT_NAMESPACE_SLUG", "acme-web-1"),
        ("CI_COMMIT_BRANCH", "Feature/one"),
        ("CI_COMMIT_REF_SLUG", "feature-one"),
        ("CI_COMMIT_DESCRIPTION", "More"),
        ("CI_PIPELINE_CREATED_AT", "2026-01-02T03:04:05Z"),
        ("CI_CONFIG_PATH", ".gitlab-ci.yml"),
        ("CI_SERVER_SHELL_SSH_HOST", "ci.example"),
        ("CI_SERVER_SHELL_SSH_PORT", "22"),
        ("CI_PAGES_DOMAIN", "ci.example"),
        ("CI_PAGES_HOSTNAME", "acme.ci.example"),
        ("CI_COMMIT_USER_LOGIN", ""),
        ("GITLAB_FEATURES", ""),
        ("CI_PROJECT_CLASSIFICATION_LABEL", ""),
    ],
)
def test_value(key: str, value: str) -> None:
    assert pipeline_variables(FACTS)[key] == value


def test_a_strange_port_is_part_of_the_domain_name() -> None:
    found = pipeline_variables(replace(FACTS, server_url="http://ci.example:8929"))
    assert (found["CI_SERVER_FQDN"], found["CI_SERVER_HOST"]) == ("ci.example:8929", "ci.example")


@pytest.mark.parametrize(
    ("changes", "present", "absent"),
    [
        ({}, {"CI_COMMIT_BRANCH"}, {"CI_COMMIT_TAG", "GITLAB_USER_ID", "CI_MERGE_REQUEST_IID", "CI_PIPELINE_NAME"}),
        ({"is_tag": True}, {"CI_COMMIT_TAG", "CI_COMMIT_TAG_MESSAGE"}, {"CI_COMMIT_BRANCH"}),
        (
            {"pipeline_source": "merge_request_event", "merge_request": REQUEST},
            {"CI_MERGE_REQUEST_IID", "CI_COMMIT_REF_NAME"},
            {"CI_COMMIT_BRANCH", "CI_COMMIT_TAG", "CI_MERGE_REQUEST_MILESTONE"},
        ),
        ({"pipeline_source": "trigger", "trigger_token": "ab12"}, {"CI_PIPELINE_TRIGGERED"}, set()),
        ({"schedule_description": "nightly"}, {"CI_PIPELINE_SCHEDULE_DESCRIPTION"}, {"CI_PIPELINE_TRIGGERED"}),
        ({"upstream_pipeline_id": 4}, {"CI_UPSTREAM_PIPELINE_ID"}, {"CI_UPSTREAM_JOB_ID"}),
        ({"user_id": 5, "user_login": "ann"}, {"GITLAB_USER_ID", "GITLAB_USER_LOGIN", "GITLAB_USER_EMAIL"}, set()),
        ({"pipeline_name": "x", "project_visibility": "public"}, {"CI_PIPELINE_NAME", "CI_PROJECT_VISIBILITY"}, set()),
    ],
)
def test_some_are_defined_only_if_they_apply(changes: dict[str, Any], present: set[str], absent: set[str]) -> None:
    found = pipeline_variables(replace(FACTS, **changes)).keys()
    assert present <= found
    assert not absent & found


def test_nothing_of_a_job_is_defined() -> None:
    assert not [name for name in pipeline_variables(FACTS) if name.startswith(("CI_JOB_", "CI_RUNNER_"))]
    assert not {"CI_PIPELINE_ID", "CI_PIPELINE_URL"} & pipeline_variables(FACTS).keys()


def test_a_merge_request_of_the_same_project() -> None:
    found = pipeline_variables(replace(FACTS, pipeline_source="merge_request_event", merge_request=REQUEST))
    assert found["CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"] == found["CI_MERGE_REQUEST_PROJECT_PATH"] == "acme/Web_1/shop"
    assert found["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"] == "main"
    assert found["CI_MERGE_REQUEST_LABELS"] == "a,b c"


@pytest.mark.parametrize(
    ("event_type", "last"), [("detached", "head"), ("merged_result", "merge"), ("merge_train", "train")]
)
def test_the_ref_of_a_merge_request(event_type: str, last: str) -> None:
    request = replace(REQUEST, event_type=event_type)
    found = pipeline_variables(replace(FACTS, pipeline_source="merge_request_event", merge_request=request))
    assert found["CI_MERGE_REQUEST_REF_PATH"] == f"refs/merge-requests/9/{last}"


def test_only_the_first_open_merge_requests_are_named() -> None:
    found = pipeline_variables(replace(FACTS, open_merge_requests=tuple(f"g/p!{number}" for number in range(9))))
    assert found["CI_OPEN_MERGE_REQUESTS"] == "g/p!0,g/p!1,g/p!2,g/p!3"
