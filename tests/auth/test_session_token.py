"""Sessions of people in a browser."""

from datetime import UTC, datetime, timedelta

import pytest

from auth.job_token import PREFIX, JobTokens
from auth.key_ring import KeyRing
from auth.session_token import LIFETIME, issue_session, read_session
from domain.errors import Unauthenticated
from tests.auth.rings import ring_of
from tests.auth.test_job_token import CLAIMS

NOW = datetime.now(UTC)


@pytest.fixture
def ring() -> KeyRing:
    return ring_of()


def test_a_session_names_its_user_for_a_week(ring: KeyRing) -> None:
    found = read_session(ring, issue_session(ring, 42, NOW, epoch=3, token_id=7))
    assert (found.user_id, found.epoch, found.token_id) == (42, 3, 7)
    assert abs(found.expires_at - (NOW + LIFETIME)) < timedelta(seconds=2)
    assert (
        read_session(ring, issue_session(ring, 42, datetime.now(UTC) - LIFETIME + timedelta(minutes=1))).user_id == 42
    )


def test_a_session_ends(ring: KeyRing) -> None:
    with pytest.raises(Unauthenticated, match="Sign in again"):
        read_session(ring, issue_session(ring, 42, NOW - LIFETIME - timedelta(minutes=1)))


def test_a_session_of_another_key_or_pod_or_none_at_all_is_refused(ring: KeyRing) -> None:
    other_pod = ring_of(ring.signer(), "west")
    for token in (issue_session(ring_of(), 42, NOW), issue_session(other_pod, 42, NOW), "", "nonsense"):
        with pytest.raises(Unauthenticated):
            read_session(ring, token)


def test_a_job_token_is_no_session(ring: KeyRing) -> None:
    token = JobTokens(ring).issue(CLAIMS, 60, NOW)
    with pytest.raises(Unauthenticated):
        read_session(ring, token.removeprefix(PREFIX))
