"""Logins for registries, as Docker keeps them."""

import base64
import json
from typing import Any

import pytest

from domain.errors import Invalid
from domain.steps.registry_login import helper_of, login_of

AUTH = base64.b64encode(b"ada:s3:cret").decode()


@pytest.mark.parametrize(
    ("entries", "registry", "login"),
    [
        ({"reg.io": {"auth": AUTH}}, "reg.io", ("ada", "s3:cret")),
        ({"https://reg.io/v1/": {"auth": AUTH}}, "reg.io", ("ada", "s3:cret")),
        ({"reg.io:5000": {"auth": AUTH}}, "reg.io:5000", ("ada", "s3:cret")),
        ({"reg.io": {"username": "ada", "password": "x"}}, "reg.io", ("ada", "x")),
        ({"https://index.docker.io/v1/": {"auth": AUTH}}, "registry-1.docker.io", ("ada", "s3:cret")),
        ({"reg.io:5000": {"auth": AUTH}}, "reg.io", None),
        ({"reg.io": {"auth": AUTH}}, "reg.io.evil.org", None),
        ({"reg.io": {}}, "reg.io", None),
        ({"reg.io": {"username": "ada"}}, "reg.io", None),
        ({"reg.io": 7}, "reg.io", None),
        ({"reg.io": {"auth": ""}}, "reg.io", None),
    ],
)
def test_an_entry_counts_for_its_registry_alone(
    entries: dict[str, Any], registry: str, login: tuple[str, str] | None
) -> None:
    assert login_of(json.dumps({"auths": entries}), registry, "it") == login


@pytest.mark.parametrize("text", ["", "  \n", "{}", "[]", '{"auths": []}', "7"])
def test_a_document_without_entries_has_none(text: str) -> None:
    assert login_of(text, "reg.io", "it") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{s3cret", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ('{"auths": {"reg.io": {"auth": "s3cret!"}}}', "it: `auth` of reg.io is no `user:password` in Base64"),
        ('{"auths": {"reg.io": {"auth": "czNjcmV0"}}}', "it: `auth` of reg.io is no `user:password` in Base64"),
    ],
)
def test_a_broken_one_is_named_and_not_shown(text: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        login_of(text, "reg.io", "it")
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("document", "registry", "helper"),
    [
        ({"credsStore": "pass"}, "reg.io", "pass"),
        ({"credsStore": "pass", "credHelpers": {"reg.io": "ecr-login"}}, "reg.io", "ecr-login"),
        ({"credHelpers": {"reg.io": "ecr-login"}}, "other.io", ""),
        ({"credHelpers": {"index.docker.io": "x"}}, "registry-1.docker.io", "x"),
        ({"credsStore": "../../x"}, "reg.io", ""),
        ({"credsStore": 7}, "reg.io", ""),
        ({"credHelpers": []}, "reg.io", ""),
    ],
)
def test_a_program_may_know_logins(document: dict[str, Any], registry: str, helper: str) -> None:
    assert helper_of(json.dumps(document), registry) == helper
