"""`secrets`: what each form gives, and what is said about wrong ones."""

from typing import Any

import pytest

from domain.config.readers.secrets import read_secrets
from tests.domain.config.reading.fields import given, refused

VAULT = {"engine": {"name": "kv-v2", "path": "kv-v2"}, "path": "production/db", "field": "password"}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("{vault: production/db/password}", {"vault": VAULT, "file": True}),
        (
            "{vault: production/db/password@ops/kv, file: false, token: $T}",
            {"vault": {**VAULT, "engine": {"name": "kv-v2", "path": "ops/kv"}}, "file": False, "token": "$T"},
        ),
        (
            "{vault: {engine: {name: kv-v1, path: ops}, path: p, field: f}}",
            {"vault": {"engine": {"name": "kv-v1", "path": "ops"}, "path": "p", "field": "f"}, "file": True},
        ),
        (
            "{gcp_secret_manager: {name: n}, token: $T}",
            {"gcp_secret_manager": {"name": "n", "version": "latest"}, "file": True, "token": "$T"},
        ),
        (
            "{gcp_secret_manager: {name: n, version: 2}, token: $T}",
            {"gcp_secret_manager": {"name": "n", "version": "2"}, "file": True, "token": "$T"},
        ),
        (
            "{azure_key_vault: {name: n, version: v}}",
            {"azure_key_vault": {"name": "n", "version": "v"}, "file": True},
        ),
        ("{aws_secrets_manager: a/b}", {"aws_secrets_manager": {"secret_id": "a/b"}, "file": True}),
        ("{aws_secrets_manager: a#f}", {"aws_secrets_manager": {"secret_id": "a", "field": "f"}, "file": True}),
        (
            "{aws_secrets_manager: {secret_id: a, region: r, field: f}}",
            {"aws_secrets_manager": {"secret_id": "a", "region": "r", "field": "f"}, "file": True},
        ),
        (
            "{gitlab_secrets_manager: {name: n, source: group/g}}",
            {"gitlab_secrets_manager": {"name": "n", "source": "group/g"}, "file": True},
        ),
        ("{vault: null, gitlab_secrets_manager: {name: n}}", {"gitlab_secrets_manager": {"name": "n"}, "file": True}),
    ],
)
def test_given(text: str, secret: Any) -> None:
    assert given(read_secrets, "secrets", f"{{DB: {text}}}") == {"DB": secret}


ONE = (
    "secrets:DB config must use exactly one of these keys: "
    "vault, gcp_secret_manager, azure_key_vault, aws_secrets_manager, gitlab_secrets_manager"
)
SHORT_VAULT = "secrets:DB:vault config should be a hash or a string like path/field@engine"


@pytest.mark.parametrize(
    ("text", "line", "path", "message"),
    [
        ("a", 1, "secrets:DB", "secrets:DB config should be a hash"),
        ("null", 1, "secrets:DB", "secrets:DB config should be a hash"),
        ("{}", 1, "secrets:DB", ONE),
        ("{token: $T}", 1, "secrets:DB", ONE),
        ("{vault: a/b, azure_key_vault: {name: n}}", 1, "secrets:DB", ONE),
        (
            "{vault: a/b,\n tokens: c}",
            2,
            "secrets:DB",
            "secrets:DB config contains unknown keys: tokens; did you mean `token`?",
        ),
        ("{vault: a/b,\n file: c}", 2, "secrets:DB:file", "secrets:DB file should be a boolean value"),
        ("{vault: a/b, token: [c]}", 1, "secrets:DB:token", "secrets:DB token should be a string"),
        ("{vault: password}", 1, "secrets:DB:vault", SHORT_VAULT),
        ("{vault: /password}", 1, "secrets:DB:vault", SHORT_VAULT),
        ("{vault: a/b@}", 1, "secrets:DB:vault", SHORT_VAULT),
        ("{vault: a/@b}", 1, "secrets:DB:vault", SHORT_VAULT),
        ("{vault: [a]}", 1, "secrets:DB:vault", "secrets:DB:vault config should be a hash"),
        ("{vault: {path: p, field: f}}", 1, "secrets:DB:vault", "secrets:DB:vault engine can't be blank"),
        (
            "{vault: {engine: {name: n}, path: p, field: f}}",
            1,
            "secrets:DB:vault:engine",
            "secrets:DB:vault:engine path can't be blank",
        ),
        (
            "{vault: {engine: kv, path: p, field: f}}",
            1,
            "secrets:DB:vault:engine",
            "secrets:DB:vault:engine config should be a hash",
        ),
        ("{gcp_secret_manager: {name: n}}", 1, "secrets:DB", "secrets:DB config missing required keys: token"),
        (
            "{token: $T, gcp_secret_manager: {name: n,\n version: true}}",
            2,
            "secrets:DB:gcp_secret_manager:version",
            "secrets:DB:gcp_secret_manager version should be a string or an integer",
        ),
        (
            "{azure_key_vault: {version: v}}",
            1,
            "secrets:DB:azure_key_vault",
            "secrets:DB:azure_key_vault name can't be blank",
        ),
        (
            "{aws_secrets_manager: {secret_id: a,\n regions: r}}",
            2,
            "secrets:DB:aws_secrets_manager",
            "secrets:DB:aws_secrets_manager config contains unknown keys: regions; did you mean `region`?",
        ),
        (
            "{aws_secrets_manager: '#f'}",
            1,
            "secrets:DB:aws_secrets_manager",
            "secrets:DB:aws_secrets_manager config can't be blank",
        ),
        (
            "{gitlab_secrets_manager: n}",
            1,
            "secrets:DB:gitlab_secrets_manager",
            "secrets:DB:gitlab_secrets_manager config should be a hash",
        ),
    ],
)
def test_refused(text: str, line: int, path: str, message: str) -> None:
    assert refused(read_secrets, "secrets", f"{{DB: {text}}}") == [(line, path, message)]


def test_secrets_are_a_mapping() -> None:
    assert refused(read_secrets, "secrets", "[a]") == [(1, "secrets", "secrets config should be a hash")]
