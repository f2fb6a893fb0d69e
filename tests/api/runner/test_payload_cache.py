"""Caches of a payload: what the server puts into their keys."""

import pytest

from domain.config.plan import Cache, CacheKey, Variable
from tests.api.runner.handing_out import built, handed_out, job_plan, payload_of


def test_a_cache_has_every_field_of_the_protocol() -> None:
    cache = Cache(
        CacheKey("gems-$CI_COMMIT_REF_SLUG"),
        paths=("vendor/", "tmp/$X"),
        untracked=True,
        policy="pull",
        when="always",
        fallback_keys=("gems-main", "gems"),
    )
    assert built(cache=(cache,))["cache"] == [
        {
            "key": "gems-$CI_COMMIT_REF_SLUG-protected",
            "untracked": True,
            "paths": ["vendor/", "tmp/$X"],
            "policy": "pull",
            "when": "always",
            "fallback_keys": ["gems-main-protected", "gems-protected"],
        }
    ]


@pytest.mark.parametrize(
    ("ref", "unprotect", "suffix"),
    [
        ("main", False, "protected"),
        ("main", True, "non_protected"),
        ("other", False, "non_protected"),
        ("other", True, "non_protected"),
    ],
)
def test_protected_refs_have_caches_of_their_own(ref: str, unprotect: bool, suffix: str) -> None:
    plan = job_plan(cache=(Cache(unprotect=unprotect, fallback_keys=("old",)),))
    (cache,) = payload_of(handed_out(plan, ref=ref))["cache"]
    assert (cache["key"], cache["fallback_keys"]) == (f"default-{suffix}", [f"old-{suffix}"])


@pytest.mark.parametrize(
    ("policy", "value", "sent"),
    [("$P", "pull", "pull"), ("${P}", "push", "push"), ("$P", "", ""), ("$P", "wrong", "wrong"), ("pull", "x", "pull")],
)
def test_a_policy_may_be_a_variable(policy: str, value: str, sent: str) -> None:
    (cache,) = built(cache=(Cache(policy=policy),), variables={"P": Variable(value)})["cache"]
    assert cache["policy"] == sent
