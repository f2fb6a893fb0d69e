"""What GitLab documents of a call is kept, refused, or named as passed over: nothing is dropped in silence."""

import re
from collections.abc import Iterator
from typing import Any, Final

import gitlab.v4.objects
import pytest
from fastapi.openapi.utils import get_openapi

from api.openapi.document import bodies_of, described
from api.runner.openapi import merged
from api.v4 import without_effect
from api.v4.projects.projects import ProjectSettings
from api.v4.router import router as rest
from api.v4.without_effect import WithoutEffect, refuse_unkept
from domain.errors import FieldsInvalid
from tests.api.v4.site import Site

_PREFIX: Final = "/api/v4"
_WRITES: Final = ("post", "put", "patch")
_REFUSED_WHOLE: Final = frozenset(
    {
        "/api/v4/application/settings",
        "/api/v4/projects/{}/issues",
        "/api/v4/projects/{}/merge_requests/{}/approval_rules",
        "/api/v4/projects/{}/merge_requests/{}/approval_rules/{}",
        "/api/v4/projects/{}/secure_files",
    }
)
"""Calls that refuse whatever changes something, and one whose body is a form with a file."""
_ONLY_OF_THE_CLIENT: Final = frozenset({"tasks_to_be_done", "state_event", "id", "merge_request_iid"})
"""What python-gitlab names and GitLab's own source does not, or what stands in the address."""
_PROJECT: Final = (
    "ci_delete_pipelines_in_seconds ci_forward_deployment_rollback_allowed ci_id_token_sub_claim_components"
    " ci_pipeline_variables_minimum_override_role ci_push_repository_for_job_token_allowed emails_enabled"
    " ci_restrict_pipeline_cancellation_role merge_request_title_regex prevent_merge_without_jira_issue public_jobs"
    " max_artifacts_size merge_trains_enabled mirror_branch_regex resource_group_default_process_mode"
    " allow_pipeline_trigger_approve_deployment fallback_approvals_required merge_trains_skip_train_allowed"
)
_BOTH: Final = (
    "emails_enabled merge_request_title_regex model_registry_access_level package_registry_access_level public_jobs"
    " warn_about_potentially_unwanted_characters group_runners_enabled"
)
_MORE: Final[dict[str, str]] = {
    "post /projects": f"{_BOTH} repository_object_format initialize_with_readme",
    "put /projects/{}": f"{_BOTH} {_PROJECT}",
    "post /groups": "default_branch default_branch_protection_defaults emails_enabled",
    "put /groups/{}": "ip_restriction_ranges allowed_email_domains_list prevent_sharing_groups_outside_hierarchy",
    "post /users": "auditor commit_email force_random_password job_title note view_diffs_file_by_file",
    "put /users/{}": "auditor commit_email job_title note view_diffs_file_by_file",
    "post /projects/{}/environments": "auto_stop_setting cluster_agent_id description kubernetes_namespace",
    "put /projects/{}/environments/{}": "auto_stop_setting cluster_agent_id description flux_resource_path",
    "post /projects/{}/hooks": "emoji_events vulnerability_events member_events",
    "post /groups/{}/hooks": "custom_webhook_template emoji_events member_events project_events",
    "post /hooks": "name description push_events tag_push_events merge_requests_events repository_update_events",
    "post /projects/{}/merge_requests": "merge_after",
    "post /projects/{}/protected_tags": "allowed_to_create",
}
"""What GitLab's source declares (`lib/api`, `ee/lib/ee/api`) and python-gitlab does not know yet."""
_GUARDS: Final = re.compile(
    r"only_allow|prevent|restrict|require_|_lock\b|_locked\b|limit\b|minimum|allowed_to|unprotect|code_owner|auditor"
    r"|title_regex\b|default_branch_protection|public_(builds|jobs)|can_create|creation_level|separated_caches"
    r"|deploy_strategy|auto_stop|merge_after|custom_webhook_template|runners_setting|authorization_classification"
    r"|^(merge_requests|builds|repository|releases|environments|operations|analytics|forking)_access_level"
)
_HARMLESS: Final = frozenset(
    {
        "restrict_user_defined_variables",
        "prevent_sharing_groups_outside_hierarchy",
        "shared_runners_minutes_limit",
        "extra_shared_runners_minutes_limit",
        "lock_math_rendering_limits_enabled",
    }
)
"""Named like guards; there is nothing here that they would guard."""

Document = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Document:
    """The OpenAPI document."""
    routes = [route.made() for route in rest]
    return merged(described(get_openapi(title="Perdure", version="0", routes=routes), routes))


def plain(path: str) -> str:
    """A path in which it does not matter what its parameters are called."""
    return re.sub(r"\{[^}]+\}", "{}", path)


def told(document: Document) -> dict[str, set[str]]:
    """The parameters of each call that writes, by method and plain path: those of path, query and body."""
    found = {}
    for path, operations in document["paths"].items():
        for method in _WRITES:
            if (operation := operations.get(method)) is not None:
                names = {one["name"] for one in operation.get("parameters", ())}
                found[f"{method} {plain(path)}"] = names | set(body_of(document, operation))
    return found


def body_of(document: Document, operation: Document) -> Document:
    """The properties of a body."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Document = document["components"]["schemas"].get(name, schema).get("properties", {})
    return found


def documented() -> Iterator[tuple[str, set[str]]]:
    """What GitLab documents: calls, with the names of their parameters."""
    for kind in vars(gitlab.v4.objects).values():
        path = getattr(kind, "_path", None)
        if not isinstance(path, str):
            continue
        for attribute, calls in (
            ("_create_attrs", ("post {}",)),
            ("_update_attrs", ("put {}", "put {}/{{}}", "patch {}/{{}}")),
        ):
            if (given := getattr(kind, attribute, None)) is not None:
                names = {*given.required, *given.optional, *given.exclusive} - _ONLY_OF_THE_CLIENT
                yield from ((call.format(_PREFIX + plain(path)), names) for call in calls)
    for call, more in _MORE.items():
        method, _, path = call.partition(" ")
        yield f"{method} {_PREFIX}{path}", set(more.split())


def test_what_gitlab_documents_is_kept_or_named(document: Document) -> None:
    ours = told(document)
    served = [(call, names) for call, names in documented() if call in ours]
    assert len(served) > 80
    places = {"put /api/v4/projects/{}/environments/{}", *(call for call in ours if "/variables/{}" in call)}
    lost = {
        call: sorted(missing)
        for call, names in served
        if call.partition(" ")[2] not in _REFUSED_WHOLE
        and (missing := names - ours[call] - ({"key", "name"} if call in places else set()) - {"file_path"})
    }
    assert lost == {}


_LATER: Final = frozenset(
    {"state_event", "add_labels", "remove_labels", "draft", "active", "as_server", "resolved", "new_name", "filter"}
)
"""What makes sense only of a thing that is there."""


def test_what_can_be_changed_can_be_given_when_a_thing_is_made(document: Document) -> None:
    bodies = {
        f"{method} {plain(path)}": set(body_of(document, operations[method]))
        for path, operations in document["paths"].items()
        for method in _WRITES
        if method in operations
    }
    changes = {call: call.partition(" ")[2].removesuffix("/{}") for call in bodies if call.endswith("/{}")}
    pairs = [(call, f"post {place}") for call, place in changes.items() if f"post {place}" in bodies]
    assert len(pairs) > 20
    assert {call: lost for call, make in pairs if (lost := bodies[call] - bodies[make] - _LATER)} == {}


def tables() -> list[tuple[str, WithoutEffect]]:
    """All rows of all tables."""
    named = (value for value in vars(without_effect).values() if isinstance(value, dict))
    return [row for table in named for row in table.items() if isinstance(row[1], WithoutEffect)]


def test_what_is_kept_is_not_said_to_have_no_effect() -> None:
    bodies = [body for _, body in bodies_of(route.made() for route in rest)]
    assert len(bodies) > 90
    assert [
        (body.model.__name__, name) for body in bodies for name in body.without_effect.keys() & body.model.model_fields
    ] == []


def test_no_guard_is_passed_over() -> None:
    assert len(tables()) > 150
    assert {name for name, one in tables() if _GUARDS.search(name) and one.only is None} <= _HARMLESS


@pytest.mark.parametrize(
    ("value", "fault"),
    [(None, ""), ("1", ""), (True, ""), ("true", ""), ("false", "1"), (False, "1"), (0, "1"), ({}, "1")],
)
def test_only_values_that_say_how_it_is_are_taken_for_a_guard(value: object, fault: str) -> None:
    row = WithoutEffect("it is so", ("true", "1"))
    assert bool(row.fault_of(value)) is bool(fault)


def test_every_refused_parameter_is_named() -> None:
    given = {"jobs_enabled": False, "topics": ["a"], "forking_access_level": "private", "name": "x", "wiki_enabled": 0}
    with pytest.raises(FieldsInvalid) as raised:
        refuse_unkept(without_effect.PROJECT, given)
    assert list(raised.value.faults) == ["forking_access_level", "jobs_enabled"]
    assert "archive the project; leave it out or give true" in raised.value.faults["jobs_enabled"]


_SETTINGS: Final = {
    "description": "All of it",
    "visibility": "internal",
    "default_branch": "trunk",
    "build_timeout": 1800,
    "ci_config_path": "ci/x.yml",
    "auto_devops_enabled": True,
    "ci_forward_deployment_enabled": False,
    "auto_cancel_pending_pipelines": "disabled",
    "keep_latest_artifact": False,
    "max_artifacts_size": 7,
    "ci_delete_pipelines_in_seconds": 86400,
    "shared_runners_enabled": False,
    "group_runners_enabled": False,
    "may_run_as_server": True,
    "merge_method": "ff",
    "squash_option": "always",
    "only_allow_merge_if_pipeline_succeeds": True,
    "allow_merge_on_skipped_pipeline": True,
    "only_allow_merge_if_all_discussions_are_resolved": True,
    "remove_source_branch_after_merge": False,
    "merge_pipelines_enabled": True,
    "merge_trains_enabled": True,
    "approvals_before_merge": 2,
    "ci_default_git_depth": None,
    "build_git_strategy": "clone",
}


async def test_a_new_project_has_every_setting_that_it_was_given(site: Site) -> None:
    assert {*_SETTINGS, "name"} == set(ProjectSettings.model_fields)
    async with site.client(site.root) as client:
        made = await client.post("/api/v4/projects", json={"name": "whole", **_SETTINGS})
        assert made.status_code == 201, made.text
        shown = (await client.get(f"/api/v4/projects/{made.json()['id']}")).json()
        assert {name: shown[name] for name in _SETTINGS} == _SETTINGS
        assert shown["empty_repo"]
        bare = (await client.post("/api/v4/projects", json={"name": "bare"})).json()
    assert bare["ci_default_git_depth"] == 20
    assert bare["build_timeout"] == 3600
    assert bare["visibility"] == "private"


async def test_settings_of_administrators_are_theirs_for_new_projects_too(site: Site) -> None:
    ada = await site.person("ada")
    async with site.client(ada) as client:
        for setting in ({"max_artifacts_size": 7}, {"may_run_as_server": True}):
            assert (await client.post("/api/v4/projects", json={"name": "x", **setting})).status_code == 403
        trains = await client.post("/api/v4/projects", json={"name": "x", "merge_trains_enabled": True})
        assert trains.status_code == 400


async def test_a_readme_is_committed_where_it_is_asked_for(site: Site) -> None:
    body = {"name": "Read me", "description": "What it is.", "default_branch": "trunk", "initialize_with_readme": True}
    async with site.client(site.root) as client:
        made = (await client.post("/api/v4/projects", json=body)).json()
        file = await client.get(
            f"/api/v4/projects/{made['id']}/repository/files/README.md/raw", params={"ref": "trunk"}
        )
        (commit,) = (await client.get(f"/api/v4/projects/{made['id']}/repository/commits")).json()
    assert file.text == "# Read me\n\nWhat it is.\n"
    assert commit["title"] == "Initial commit"


async def test_guards_are_refused_and_the_rest_is_passed_over(site: Site) -> None:
    project = f"/api/v4/projects/{site.world.project_id}"
    person = {"username": "ada", "name": "Ada", "email": "ada@example.com"}
    calls: list[tuple[str, str, Document, Document, Document]] = [
        ("POST", "/api/v4/projects", {"name": "p"}, {"builds_access_level": "private"}, {"topics": ["a"]}),
        ("PUT", project, {}, {"merge_requests_access_level": "disabled"}, {"builds_access_level": "enabled"}),
        ("PUT", project, {}, {"path": "elsewhere"}, {"wiki_enabled": False}),
        ("POST", "/api/v4/groups", {"name": "g"}, {"membership_lock": True}, {"lfs_enabled": False}),
        (
            "POST",
            "/api/v4/users",
            person,
            {"auditor": True},
            {"bio": "x", "can_create_group": False, "projects_limit": 0},
        ),
        ("POST", f"{project}/environments", {"name": "e"}, {"auto_stop_setting": "with_action"}, {"description": "d"}),
        (
            "POST",
            f"{project}/hooks",
            {"url": "https://a.example"},
            {"custom_webhook_template": "{}"},
            {"emoji_events": 1},
        ),
        ("POST", f"{project}/protected_branches", {"name": "x"}, {"code_owner_approval_required": True}, {}),
    ]
    async with site.client(site.root) as client:
        for method, path, body, guard, harmless in calls:
            refused = await client.request(method, path, json=body | guard)
            assert refused.status_code == 400, path
            assert list(refused.json()["message"]) == list(guard)
            taken = await client.request(method, path, json=body | harmless)
            assert taken.status_code in {200, 201}, taken.text
