"""Sessions of people in a browser."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from auth.job_token import PREFIX, JobClaims, JobTokens
from auth.keys import SigningKey
from auth.session_token import LIFETIME, issue_session, read_session
from domain.errors import Unauthenticated

NOW = datetime.now(UTC)


@pytest.fixture
def key() -> SigningKey:
    private = Ed25519PrivateKey.generate()
    return SigningKey(private, private.public_key())


def test_a_session_names_its_user_for_a_week(key: SigningKey) -> None:
    assert read_session(key, issue_session(key, 42, NOW)) == 42
    assert read_session(key, issue_session(key, 42, datetime.now(UTC) - LIFETIME + timedelta(minutes=1))) == 42


def test_a_session_ends(key: SigningKey) -> None:
    with pytest.raises(Unauthenticated, match="Sign in again"):
        read_session(key, issue_session(key, 42, NOW - LIFETIME - timedelta(minutes=1)))


def test_a_session_of_another_key_or_none_at_all_is_refused(key: SigningKey) -> None:
    private = Ed25519PrivateKey.generate()
    other = SigningKey(private, private.public_key())
    for token in (issue_session(other, 42, NOW), "", "nonsense"):
        with pytest.raises(Unauthenticated):
            read_session(key, token)


def test_a_job_token_is_no_session(key: SigningKey) -> None:
    token = JobTokens(key, "east").issue(JobClaims("east", 42, 1, 1, 1), 60, NOW)
    with pytest.raises(Unauthenticated):
        read_session(key, token.removeprefix(PREFIX))
