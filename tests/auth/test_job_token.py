"""Job tokens open one hand-out of one job, and what they name."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from auth.job_token import PREFIX, JobClaims, JobTokens, Scope, own_scopes, scope_of
from auth.key_ring import KeyRing, Purpose, Turns
from domain.errors import Forbidden
from tests.auth.rings import Time, ring_of

NOW = datetime.now(UTC)
CLAIMS = JobClaims(
    pod="east",
    organisation_id=9,
    project_id=5,
    job_id=7,
    attempt=2,
    hand_out=3,
    scopes=frozenset(own_scopes(5)),
    archives=frozenset({4, 6}),
)


@pytest.fixture
def ring() -> KeyRing:
    return ring_of()


def test_a_token_says_what_it_was_issued_for(ring: KeyRing) -> None:
    token = JobTokens(ring).issue(CLAIMS, 3600, NOW)
    assert token.startswith(PREFIX)
    assert JobTokens(ring).read(token) == CLAIMS


def test_a_token_has_one_spelling(ring: KeyRing) -> None:
    token = JobTokens(ring).issue(CLAIMS, 3600, NOW)
    for other in (token.removeprefix(PREFIX), PREFIX + token, token + "=", token + "\n", " " + token, token[:-1] + "!"):
        with pytest.raises(Forbidden):
            JobTokens(ring).read(other)


def test_two_tokens_are_never_the_same(ring: KeyRing) -> None:
    tokens = JobTokens(ring)
    assert tokens.issue(CLAIMS, 60, NOW) != tokens.issue(CLAIMS, 60, NOW)


@pytest.mark.parametrize("knows_it", [True, False])
def test_a_token_outlives_the_jobs_timeout_by_an_hour(ring: KeyRing, knows_it: bool) -> None:
    """Also where the token was issued or read before, and its signature is not checked again."""
    tokens = JobTokens(ring)
    reader = tokens if knows_it else JobTokens(ring)
    early = datetime.now(UTC) - timedelta(seconds=60 + 3600)
    assert reader.read(tokens.issue(CLAIMS, 120, early)) == CLAIMS
    with pytest.raises(Forbidden):
        reader.read(tokens.issue(CLAIMS, 60, early - timedelta(minutes=2)))


def test_a_token_is_for_some_scopes(ring: KeyRing) -> None:
    narrow = replace(CLAIMS, scopes=frozenset({Scope.ARTIFACTS_DOWNLOAD, scope_of(Scope.GIT_READ, 5)}))
    read = JobTokens(ring).read(JobTokens(ring).issue(narrow, 60, NOW))
    read.require(Scope.ARTIFACTS_DOWNLOAD)
    read.require("git:read:5")
    for scope in ("git:read", "git:read:6", "git:read:", Scope.UPDATE, Scope.TRACE, "registry:pull:5", ""):
        with pytest.raises(Forbidden, match="not for"):
            read.require(scope)


def test_a_token_fits_into_a_header(ring: KeyRing) -> None:
    """With ordinary ids, with fifty dependencies, and with half of the largest pipeline."""
    base = 3 * 2**40
    whole = {"organisation_id": base, "project_id": base, "job_id": base + 5000, "scopes": own_scopes(base)}

    def length(**changed: Any) -> int:
        return len(JobTokens(ring).issue(replace(CLAIMS, **{**whole, **changed}), 3600, NOW))

    assert length(archives=frozenset()) < 900
    assert length(archives=frozenset(range(base, base + 500, 10))) < 1000
    assert length(archives=frozenset(range(base, base + 5000))) < 1000
    assert length(archives=frozenset(item for item in range(base, base + 5000) if hash(str(item)) % 2)) < 3000


def test_tokens_that_are_out_survive_a_rotation_and_die_with_their_key(tmp_path: Path) -> None:
    """Source: docs/reference/reliability.md, "Key rotation". Also where a process remembers that the token was good."""
    time = Time(datetime.now(UTC).timestamp())
    turns = Turns(lead=10, overlap=3600 * 48)

    def process() -> JobTokens:
        return JobTokens(KeyRing(Purpose.SIGNING, tmp_path, "perdure:east", turns, now=time))

    ring = KeyRing(Purpose.SIGNING, tmp_path, "perdure:east", turns, now=time)
    tokens = JobTokens(ring)
    out = [tokens.issue(CLAIMS, 3600 * 72, NOW) for _ in range(100)]
    ring.rotate()
    time.now += turns.lead
    new = tokens.issue(CLAIMS, 3600 * 72, NOW)
    assert new.split(".")[0] != out[0].split(".")[0]
    for reader in (tokens, process()):
        assert all(reader.read(token) == CLAIMS for token in [*out, new])
    time.now += turns.overlap
    for reader in (tokens, process()):
        assert reader.read(new) == CLAIMS
        for token in out:
            with pytest.raises(Forbidden):
                reader.read(token)
