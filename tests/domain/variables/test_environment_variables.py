"""Variables of environments: slugs, tiers and what is left out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.variables.environment_variables import MAX_SLUG, environment_slug, environment_variables, guessed_tier
from domain.variables.job_variables import JobVariable, expand

SUFFIX = "[a-z0-9]{6}"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("production", "production"),
        ("staging-1234567890123456", "staging-1234567890123456"),
        ("foo-", "foo"),
        ("staging-12345678-", "staging-12345678"),
        ("staging-12345678901234567", f"staging-123456789-{SUFFIX}"),
        ("9-staging-123456789012345", f"env-9-staging-123-{SUFFIX}"),
        ("staging-1234567890123456-", f"staging-123456789-{SUFFIX}"),
        ("PRODUCTION", f"production-{SUFFIX}"),
        ("review/1-foo", f"review-1-foo-{SUFFIX}"),
        ("1-foo", f"env-1-foo-{SUFFIX}"),
        ("foo--bar", f"foo-bar-{SUFFIX}"),
        ("*-foo", f"env-foo-{SUFFIX}"),
        ("staging-12345678-01234567", f"staging-12345678-{SUFFIX}"),
        ("", f"env-{SUFFIX}"),
    ],
)
def test_slugs_of_names(name: str, slug: str) -> None:
    assert re.fullmatch(slug, environment_slug(name))


def test_the_suffix_is_the_end_of_the_hash_in_base_36() -> None:
    slug = environment_slug("review/1-foo")
    # `printf review/1-foo | sha256sum`, taken apart by another way than the code's.
    hashed = int("22d14a1e880332efeb8613b5a4e49ff1e071fc84ed80b8692d12b4604535f28e", 16)
    assert int(slug[-6:], 36) == hashed % 36**6
    assert slug == "review-1-foo-9tdj0u"


@given(st.text(max_size=60))
def test_every_slug_fits_everywhere(name: str) -> None:
    slug = environment_slug(name)
    assert re.fullmatch("[a-z]([a-z0-9-]*[a-z0-9])?", slug)
    assert "--" not in slug
    assert len(slug) <= MAX_SLUG


@given(st.text(max_size=8), st.text(max_size=8))
def test_two_names_share_no_slug(one: str, other: str) -> None:
    # Except for a dash at the end, which is cut off.
    if one.rstrip("-") != other.rstrip("-"):
        assert environment_slug(one) != environment_slug(other)


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("dev", "development"),
        ("Review/feature-1", "development"),
        ("trunk", "development"),
        ("qa-2", "testing"),
        ("acceptance", "testing"),
        ("acpt", "testing"),
        ("integration", "testing"),
        ("stg", "staging"),
        ("pre-prod", "staging"),
        ("non-live", "staging"),
        ("PRODUCTION", "production"),
        ("prd", "production"),
        ("test-prod", "testing"),
        ("gpu cluster", "other"),
        ("", "other"),
    ],
)
def test_tiers_by_name(name: str, tier: str) -> None:
    assert guessed_tier(name) == tier


def test_a_url_may_use_the_slug_and_a_name_is_never_expanded_again() -> None:
    variables = environment_variables("review/$x", "https://${CI_ENVIRONMENT_SLUG}.$HOST", "stop", "testing")
    found = {item.key: item.value for item in expand((JobVariable("HOST", "example.com"), *variables))}
    assert found == {
        "HOST": "example.com",
        "CI_ENVIRONMENT_NAME": "review/$x",
        "CI_ENVIRONMENT_SLUG": environment_slug("review/$x"),
        "CI_ENVIRONMENT_ACTION": "stop",
        "CI_ENVIRONMENT_TIER": "testing",
        "CI_ENVIRONMENT_URL": f"https://{environment_slug('review/$x')}.example.com",
    }


def test_without_a_url_there_is_none_and_the_rest_has_defaults() -> None:
    found = {item.key: item.value for item in environment_variables("production")}
    assert found == {
        "CI_ENVIRONMENT_NAME": "production",
        "CI_ENVIRONMENT_SLUG": "production",
        "CI_ENVIRONMENT_ACTION": "start",
        "CI_ENVIRONMENT_TIER": "production",
    }
