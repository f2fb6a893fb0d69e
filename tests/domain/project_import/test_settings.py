"""What a project that is imported is set to."""

from typing import Any

import pytest

from domain.project_import.plan import Plan
from domain.project_import.settings import plan

OURS: dict[str, Any] = {
    "name": "Shop",
    "description": None,
    "default_branch": "main",
    "ci_config_path": ".gitlab-ci.yml",
    "build_timeout": 3600,
    "visibility": "private",
    "auto_cancel_pending_pipelines": "enabled",
}


def changed(made: Plan) -> dict[str, Any]:
    """The fields that are set."""
    return {name: value for item in made.items for call in item.calls for name, value in call.body.items()}


def test_what_differs_is_set() -> None:
    source = {**OURS, "description": "A shop", "build_timeout": 7200, "auto_cancel_pending_pipelines": "disabled"}
    made = plan(source, OURS)
    assert changed(made) == {
        "description": "A shop",
        "build_timeout": 7200,
        "auto_cancel_pending_pipelines": "disabled",
    }
    assert all((call.method, call.route) == ("PUT", "") for item in made.items for call in item.calls)


def test_what_is_written_in_two_ways_is_the_same() -> None:
    assert changed(plan({**OURS, "description": "", "ci_config_path": ""}, OURS)) == {}
    assert changed(plan({**OURS, "description": None}, {**OURS, "description": "old"})) == {"description": ""}


def test_jobs_get_their_sources_as_before() -> None:
    ours = {**OURS, "ci_default_git_depth": 20, "build_git_strategy": "fetch"}
    assert changed(plan({**ours, "ci_default_git_depth": 50, "build_git_strategy": "clone"}, ours)) == {
        "ci_default_git_depth": 50,
        "build_git_strategy": "clone",
    }
    assert changed(plan({**ours, "ci_default_git_depth": None, "build_git_strategy": None}, ours)) == {
        "ci_default_git_depth": 0
    }, "null is all commits"
    assert changed(plan({**ours, "ci_default_git_depth": None}, {**ours, "ci_default_git_depth": 0})) == {}
    assert changed(plan(OURS, ours)) == {}


def test_what_the_source_does_not_say_stays() -> None:
    assert changed(plan({"name": "Shop", "build_timeout": None}, OURS)) == {}


@pytest.mark.parametrize(("theirs", "ours"), [("public", "private"), ("private", "public")])
def test_who_sees_a_project_that_is_here_is_never_changed(theirs: str, ours: str) -> None:
    made = plan({**OURS, "visibility": theirs}, {**OURS, "visibility": ours})
    assert (changed(made), [one.name for one in made.not_carried]) == ({}, ["visibility"])


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("ci_pipeline_variables_minimum_override_role", "owner", "owner"),
        ("mirror", True, "mirror"),
        ("archived", True, "rchive"),
        ("ci_separated_caches", False, "cache"),
    ],
)
def test_what_has_no_counterpart_is_told(field: str, value: str | bool, word: str) -> None:
    (left,) = plan({**OURS, field: value}, OURS).not_carried
    assert (left.kind, left.name, word in left.reason + left.advice) == ("setting", field, True)


def test_a_setting_of_two_names_is_told_once() -> None:
    both = {"restrict_user_defined_variables": True, "ci_pipeline_variables_minimum_override_role": "owner"}
    assert len(plan({**OURS, **both}, OURS).not_carried) == 1
    assert len(plan({**OURS, "restrict_user_defined_variables": True}, OURS).not_carried) == 1


def test_what_is_usual_is_not_told() -> None:
    usual = {"ci_default_git_depth": 20, "build_git_strategy": "fetch", "mirror": False, "public_jobs": True}
    assert plan({**OURS, **usual, "archived": False}, OURS).not_carried == ()
