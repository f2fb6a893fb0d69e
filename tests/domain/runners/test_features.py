"""What a job needs of its runner."""

from typing import Any

import pytest

from domain.runners.features import REQUIREMENTS, named_features, unmet_requirements
from fleet.features import runner_info

EVERYTHING = frozenset(REQUIREMENTS) | {"cache"}

NEEDY: dict[str, dict[str, Any]] = {
    "upload_multiple_artifacts": {"artifacts": {"reports": {"junit": ["r.xml"]}}},
    "artifacts_exclude": {"artifacts": {"paths": ["out"], "exclude": ["out/tmp"]}},
    "return_exit_code": {"allow_failure_exit_codes": [3]},
    "fallback_cache_keys": {"cache": [{"key": {"text": "a"}, "fallback_keys": ["b"]}]},
    "vault_secrets": {"secrets": {"PASSWORD": {"vault": {"path": "x"}}}},
    "native_steps_integration": {"run": [{"name": "one", "script": "make"}]},
    "steps_resume": {"run": [{"name": "one", "script": "make"}], "steps_resume": {"from": "two", "done": {}}},
    "job_inputs": {"inputs": {"level": {"type": "number", "default": 3}}},
}


@pytest.mark.parametrize("feature", NEEDY)
def test_a_job_needs_exactly_the_feature_of_its_keyword(feature: str) -> None:
    assert unmet_requirements(NEEDY[feature], "main", EVERYTHING) == ()
    (unmet,) = unmet_requirements(NEEDY[feature], "main", EVERYTHING - {feature})
    assert unmet == f"{feature} (for {REQUIREMENTS[feature].words})"
    assert unmet_requirements({"script": ["make"]}, "main", EVERYTHING - {feature}) == ()


@pytest.mark.parametrize(
    ("feature", "plan"),
    [
        ("upload_multiple_artifacts", {"artifacts": {"coverage_report": {"path": "c.xml"}}}),
        ("return_exit_code", {"retry": {"max": 1, "exit_codes": [3]}}),
    ],
)
def test_other_keywords_need_the_same(feature: str, plan: dict[str, Any]) -> None:
    assert len(unmet_requirements(plan, "main", EVERYTHING - {feature})) == 1


def test_only_the_ref_of_a_merge_request_needs_refspecs() -> None:
    assert unmet_requirements({}, "refs/heads/main", frozenset()) == ()
    assert len(unmet_requirements({}, "refs/merge-requests/3/head", frozenset())) == 1


def test_a_runner_without_caches_needs_no_fallback_keys() -> None:
    assert unmet_requirements(NEEDY["fallback_cache_keys"], "main", frozenset()) == ()


def test_a_runner_that_says_nothing_of_features_is_believed_to_have_all_but_what_it_would_leave_out() -> None:
    lacked = {name for name, plan in NEEDY.items() if unmet_requirements(plan, "refs/merge-requests/3/head", None)}
    assert lacked == {"vault_secrets", "native_steps_integration", "steps_resume"}


def test_every_requirement_is_tested() -> None:
    assert NEEDY.keys() | {"refspecs"} == REQUIREMENTS.keys()


@pytest.mark.parametrize("info", [None, {}, [], {"features": None}, {"features": ["refspecs"]}])
def test_an_info_without_features_says_nothing(info: Any) -> None:
    assert named_features(info) is None


def test_only_a_yes_is_a_feature() -> None:
    said = {"features": {"refspecs": True, "cache": False, "masking": "true", "session": None}}
    assert named_features(said) == frozenset({"refspecs"})


def test_our_own_runner_has_what_the_keywords_that_run_need() -> None:
    features = named_features(runner_info())
    unable = {name for name, plan in NEEDY.items() if unmet_requirements(plan, "refs/merge-requests/3/head", features)}
    assert unable == {"vault_secrets"}
