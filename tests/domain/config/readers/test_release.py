"""`release`: what each form gives, and what is said about wrong ones."""

from typing import Any

import pytest

from domain.config.readers.release import LINK_TYPES, read_release
from tests.domain.config.reading.fields import given, refused

SMALLEST = "tag_name: v1, description: d"
DATE = "release released at must be a valid datetime; write it by ISO 8601, as '2030-01-31T12:00:00Z'"
LINKS = "release:assets:links:link"


def with_links(links: str) -> str:
    return f"{{{SMALLEST}, assets: {{links: {links}}}}}"


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", {}),
        ("tag_message: ''", {"tag_message": ""}),
        ("name: n, tag_message: m, ref: $CI_COMMIT_SHA", {"name": "n", "tag_message": "m", "ref": "$CI_COMMIT_SHA"}),
        ("milestones: [m1, m 2]", {"milestones": ["m1", "m 2"]}),
        ("milestones: m1", {"milestones": ["m1"]}),
        ("released_at: '2030-01-31T12:00:00Z'", {"released_at": "2030-01-31T12:00:00Z"}),
        ("released_at: '2030-01-31'", {"released_at": "2030-01-31"}),
        ("released_at: null, ref: null", {}),
        (
            "assets: {links: [{name: n, url: 'https://h/$TAG'}, {name: m, url: u, link_type: image, filepath: /f}]}",
            {
                "assets": {
                    "links": [
                        {"name": "n", "url": "https://h/$TAG"},
                        {"name": "m", "url": "u", "link_type": "image", "filepath": "/f"},
                    ]
                }
            },
        ),
    ],
)
def test_given(more: str, found: Any) -> None:
    assert given(read_release, "release", f"{{{SMALLEST}, {more}}}") == {"tag_name": "v1", "description": "d", **found}


@pytest.mark.parametrize("kind", LINK_TYPES)
def test_every_type_of_link(kind: str) -> None:
    found = given(read_release, "release", with_links(f"[{{name: n, url: u, link_type: {kind}}}]"))
    assert found["assets"]["links"][0]["link_type"] == kind


@pytest.mark.parametrize("ref", ["main", "feature/a-b", "v1.2.3", "$TAG", "a.b", "a@b", "@"])
def test_right_refs(ref: str) -> None:
    assert given(read_release, "release", f"{{{SMALLEST}, ref: '{ref}'}}")["ref"] == ref


@pytest.mark.parametrize(
    "ref",
    ["a b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "[a", "a\\b", "-a", "/a", "a/", "a.", "a.lock", "a//b", "a@{b"],
)
def test_wrong_refs(ref: str) -> None:
    found = refused(read_release, "release", f"{{{SMALLEST},\n ref: '{ref}'}}")
    assert found == [(2, "release:ref", "release ref must be a valid ref")]


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("a", 1, "release", "release config should be a hash"),
        ("{description: d}", 1, "release", "release tag name can't be blank"),
        ("{tag_name: v}", 1, "release", "release description can't be blank"),
        ("{description: d,\n tag_name: ''}", 2, "release:tag_name", "release tag name can't be blank"),
        ("{tag_name: v,\n description: [d]}", 2, "release:description", "release description should be a string"),
        (
            f"{{{SMALLEST},\n milestone: m}}",
            2,
            "release",
            "release config contains unknown keys: milestone; did you mean `milestones`?",
        ),
        (f"{{{SMALLEST}, tag_message: 1}}", 1, "release:tag_message", "release tag message should be a string"),
        (f"{{{SMALLEST}, name: [a]}}", 1, "release:name", "release name should be a string"),
        (
            f"{{{SMALLEST}, milestones: {{a: b}}}}",
            1,
            "release:milestones",
            "release milestones should be an array of strings or a string",
        ),
        (f"{{{SMALLEST}, released_at: soon}}", 1, "release:released_at", DATE),
        (f"{{{SMALLEST}, released_at: 2030}}", 1, "release:released_at", DATE),
        (f"{{{SMALLEST}, released_at: ''}}", 1, "release:released_at", DATE),
        (f"{{{SMALLEST}, assets: [a]}}", 1, "release:assets", "release:assets config should be a hash"),
        (f"{{{SMALLEST}, assets: {{}}}}", 1, "release:assets", "release:assets links can't be blank"),
        (with_links("[]"), 1, "release:assets:links", "release:assets links can't be blank"),
        (with_links("[a]"), 1, "release:assets:links", "release:assets links should be an array of hashes"),
        (with_links("[{url: u}]"), 1, LINKS, f"{LINKS} name can't be blank"),
        (with_links("[{name: n, url: u},\n {name: n}]"), 2, LINKS, f"{LINKS} url can't be blank"),
        (with_links("[{name: n, url: 1}]"), 1, f"{LINKS}:url", f"{LINKS} url should be a string"),
        (
            with_links("[{name: n, url: u, link_type: images}]"),
            1,
            f"{LINKS}:link_type",
            f"{LINKS} link type should be one of: runbook, package, image, other; did you mean `image`?",
        ),
        (
            with_links("[{name: n, url: u, filepath: f}]"),
            1,
            f"{LINKS}:filepath",
            f"{LINKS} filepath must start with a slash",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_release, "release", text) == [(line, path, message)]
