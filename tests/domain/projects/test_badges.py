"""Addresses and words of badges."""

import pytest

from domain.errors import Invalid
from domain.projects.badges import (
    BadgeFacts,
    Said,
    Thresholds,
    checked_address,
    rendered,
    said_of_coverage,
    said_of_status,
)

FACTS = BadgeFacts("top/team/app", 'My "App"', "app", 7, "a#b", "ci.example.com:8443", commit_sha="ab" * 20)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("project_path", "top/team/app"),
        ("project_title", "My%20%22App%22"),
        ("project_name", "app"),
        ("project_id", "7"),
        ("project_namespace", "top/team"),
        ("group_name", "top"),
        ("gitlab_server", "ci.example.com:8443"),
        ("default_branch", "a%23b"),
        ("commit_sha", "ab" * 20),
        ("latest_tag", "%{latest_tag}"),
        ("gitlab_pages_domain", "%{gitlab_pages_domain}"),
    ],
)
def test_a_placeholder_becomes_what_it_means(name: str, meaning: str) -> None:
    assert rendered(f"https://x.example/%{{{name}}}?a=%41", FACTS) == f"https://x.example/{meaning}?a=%41"


def test_without_a_project_addresses_stay_as_they_are() -> None:
    assert rendered("https://x.example/%{project_path}", None) == "https://x.example/%{project_path}"


@pytest.mark.parametrize("wrong", ["", "javascript:alert(1)", "https://", 'https://a/"><b>', "https://a b", "//a/b"])
def test_other_addresses_than_those_of_the_web_are_refused(wrong: str) -> None:
    with pytest.raises(Invalid, match="link_url is invalid: give an http or https address"):
        checked_address(wrong, "link_url")
    assert checked_address("https://%{gitlab_server}/%{project_path}", "link_url")


def test_pictures_say_gitlabs_words_in_its_colours() -> None:
    assert said_of_status("success") == Said("passed", "#4c1")
    assert said_of_status("manual") == Said("manual", "#9f9f9f")
    assert said_of_status(None) == Said("unknown", "#9f9f9f")
    colors = [said_of_coverage(value, Thresholds()).color for value in (95, 94.99, 89, 10, None)]
    assert colors == ["#4c1", "#a3c51c", "#dfb317", "#e05d44", "#9f9f9f"]
    assert said_of_coverage(50, Thresholds(good=50)) == Said("50.00%", "#4c1")
