"""What other pods have signed: each in its own name alone, by keys that the directory has of it."""

import time
from dataclasses import replace
from typing import Any

import pytest

from auth.key_ring import KeyRing
from auth.keys import Algorithm, SigningKey
from auth.pod_keys import PodKeys, read_of_pod
from auth.signed_token import TokenKind, issuer_of, sign
from domain.pods.directory import Directory, Pod
from tests.auth.rings import ring_of

KIND = TokenKind("perdure-test+jwt", "perdure:test:home")


def pod_of(number: int, name: str, *rings: KeyRing) -> Pod:
    return Pod(number, name, public_keys=tuple(key for ring in rings for key in ring.public_documents()["keys"]))


def signed(ring: KeyRing, kind: TokenKind = KIND, **claims: Any) -> str:
    now = int(time.time())
    return sign(ring, kind, {"sub": "ada", "jti": "1", "iat": now, "exp": now + 60, **claims})


@pytest.fixture
def east() -> KeyRing:
    return ring_of(pod="east")


@pytest.fixture
def west() -> KeyRing:
    return ring_of(pod="west")


@pytest.fixture
def directory(east: KeyRing, west: KeyRing) -> Directory:
    return Directory(1, (pod_of(0, "east", east), pod_of(4, "west", west)))


def test_the_pod_that_signed_is_known(directory: Directory, east: KeyRing, west: KeyRing) -> None:
    for ring, number in ((east, 0), (west, 4)):
        found = read_of_pod(directory, KIND, signed(ring))
        assert found is not None
        assert (found.pod.number, found.claims["sub"]) == (number, "ada")


def test_no_pod_signs_for_another_or_for_one_that_the_directory_does_not_have(
    directory: Directory, east: KeyRing
) -> None:
    forged = [
        signed(ring_of(east.signer(), "west")),
        signed(ring_of(east.signer(), "north")),
        signed(ring_of(pod="east")),
        signed(east, iss="perdure:west"),
        signed(east, iss="east"),
    ]
    assert [read_of_pod(directory, KIND, token) for token in forged] == [None] * len(forged)
    gone = replace(directory, pods=directory.pods[1:])
    assert read_of_pod(gone, KIND, signed(east)) is None


@pytest.mark.parametrize(
    ("kind", "claims"),
    [
        (TokenKind("perdure-session+jwt", KIND.audience), {}),
        (TokenKind(KIND.typ, "perdure:test:other"), {}),
        (KIND, {"exp": 1}),
        (KIND, {"aud": [KIND.audience]}),
        (KIND, {"jti": None}),
    ],
)
def test_another_kind_another_audience_and_a_late_one_are_refused(
    directory: Directory, east: KeyRing, kind: TokenKind, claims: dict[str, Any]
) -> None:
    assert read_of_pod(directory, KIND, signed(east, kind, **claims)) is None


@pytest.mark.parametrize("text", ["", "a", "a.b", "a.b.c", "a.e30.c", "a.bnVsbA.c", "ü.e30.c", "." * 9000])
def test_what_is_no_token_names_nobody(directory: Directory, text: str) -> None:
    assert issuer_of(text) == ""
    assert read_of_pod(directory, KIND, text) is None


def test_keys_of_identities_and_broken_ones_verify_nothing(east: KeyRing) -> None:
    rsa = SigningKey.new(Algorithm.RS256).public_document()
    broken = {**east.signer().public_document(), "x": "!"}
    keys = PodKeys(Pod(0, "east", public_keys=(rsa, broken)))
    assert keys.find(rsa["kid"]) is None
    assert keys.find(broken["kid"]) is None
