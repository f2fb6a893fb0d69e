"""Job tokens open one hand-out of one job."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auth.job_token import ALL_SCOPES, PREFIX, JobClaims, JobTokens, Scope
from auth.keys import SigningKey
from auth.session_token import issue_session
from domain.errors import Forbidden

NOW = datetime.now(UTC)
CLAIMS = JobClaims("east", job_id=7, attempt=2, hand_out=3, project_id=5)


def fresh_key() -> SigningKey:
    """A key of nobody else."""
    private = Ed25519PrivateKey.generate()
    return SigningKey(private, private.public_key())


@pytest.fixture
def key() -> SigningKey:
    return fresh_key()


@pytest.fixture
def tokens(key: SigningKey) -> JobTokens:
    return JobTokens(key, "east")


def test_a_token_says_what_it_was_issued_for(tokens: JobTokens) -> None:
    token = tokens.issue(CLAIMS, 3600, NOW)
    assert token.startswith(PREFIX)
    assert tokens.read(token) == CLAIMS
    assert tokens.read(token.removeprefix(PREFIX)) == CLAIMS


def test_two_tokens_are_never_the_same(tokens: JobTokens) -> None:
    assert tokens.issue(CLAIMS, 60, NOW) != tokens.issue(CLAIMS, 60, NOW)


def test_a_token_outlives_the_jobs_timeout_by_an_hour(tokens: JobTokens) -> None:
    early = datetime.now(UTC) - timedelta(seconds=60 + 3600)
    assert tokens.read(tokens.issue(CLAIMS, 120, early)) == CLAIMS
    with pytest.raises(Forbidden):
        tokens.read(tokens.issue(CLAIMS, 60, early - timedelta(minutes=2)))


def test_a_token_is_for_some_scopes(tokens: JobTokens) -> None:
    narrow = JobClaims("east", 7, 1, 1, 5, scopes=(Scope.ARTIFACTS_DOWNLOAD,))
    read = tokens.read(tokens.issue(narrow, 60, NOW))
    read.require(Scope.ARTIFACTS_DOWNLOAD)
    for scope in set(ALL_SCOPES) - {Scope.ARTIFACTS_DOWNLOAD}:
        with pytest.raises(Forbidden, match=f"not for {scope}"):
            read.require(scope)


def encoded(key: Any, algorithm: str = "EdDSA", typ: str = "perdure-job+jwt", **changed: Any) -> str:
    """A token like ours with something changed; None leaves a claim out."""
    document = {
        "iss": "perdure:east",
        "aud": "perdure:job",
        "sub": "7",
        "jti": "1",
        "iat": NOW,
        "exp": NOW + timedelta(hours=1),
        "pod": "east",
        "attempt": 2,
        "hand_out": 3,
        "project": 5,
        "scopes": list(ALL_SCOPES),
        **changed,
    }
    kept = {name: value for name, value in document.items() if value is not None}
    return jwt.encode(kept, key, algorithm=algorithm, headers={"typ": typ})


def unsigned() -> str:
    """A token with algorithm `none`."""

    def part(document: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()

    body = {"iss": "perdure:east", "aud": "perdure:job", "sub": "7", "jti": "1", "iat": 1, "exp": 9_999_999_999}
    return f"{part({'alg': 'none', 'typ': 'perdure-job+jwt'})}.{part(body)}."


FORGERIES: dict[str, Callable[[SigningKey], str]] = {
    "nothing": lambda key: "",
    "no token": lambda key: "glcbt-secret",
    "another key": lambda key: encoded(fresh_key().private),
    "another pod": lambda key: encoded(key.private, iss="perdure:west"),
    "another audience": lambda key: encoded(key.private, aud="perdure:session"),
    "another type": lambda key: encoded(key.private, typ="perdure-session+jwt"),
    "a session": lambda key: issue_session(key, 7, NOW),
    "expired": lambda key: encoded(key.private, exp=NOW - timedelta(minutes=1)),
    "never expires": lambda key: encoded(key.private, exp=None),
    "no hand-out": lambda key: encoded(key.private, hand_out=None),
    "no job": lambda key: encoded(key.private, sub="none"),
    "a shared secret": lambda key: encoded("x" * 32, algorithm="HS256"),
    "unsigned": lambda key: unsigned(),
}


def test_the_forger_knows_how_to_make_a_right_one(tokens: JobTokens, key: SigningKey) -> None:
    assert tokens.read(encoded(key.private)) == CLAIMS


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_token_is_refused_without_a_reason(tokens: JobTokens, key: SigningKey, forgery: str) -> None:
    with pytest.raises(Forbidden) as raised:
        tokens.read(FORGERIES[forgery](key))
    assert str(raised.value) == "403 Forbidden"


def test_a_changed_token_is_refused(tokens: JobTokens) -> None:
    head, body, signature = tokens.issue(CLAIMS, 60, NOW).removeprefix(PREFIX).split(".")
    document = json.loads(base64.urlsafe_b64decode(body + "=="))
    document["sub"] = "8"
    changed = base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()
    with pytest.raises(Forbidden):
        tokens.read(f"{head}.{changed}.{signature}")
