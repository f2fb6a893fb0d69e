"""What a directory takes as the fields of a pod."""

from typing import Any

import pytest

from domain.errors import Invalid
from domain.pods.pod_fields import (
    MAX_KEYS,
    MAX_WEIGHT,
    addresses_in,
    checked_address,
    checked_name,
    checked_weight,
    keys_in,
)

KEY = {"kty": "OKP", "crv": "Ed25519", "x": "abc", "kid": "k", "alg": "EdDSA", "use": "sig"}


def test_an_address_has_each_api_of_a_pod() -> None:
    found = addresses_in("10.0.0.5:8930, [::1]:80,pod.example:65535,")
    assert found == (("10.0.0.5", 8930), ("::1", 80), ("pod.example", 65535))
    assert addresses_in("") == ()


@pytest.mark.parametrize(
    "text",
    ["host", "host:", ":80", "host:0", "host:65536", "host:x", "host:٣", "a b:1", "http://h:1", "h:1/x", "h:1:2"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(Invalid, match="is not host:port"):
        checked_address(text)


def test_an_address_has_an_end() -> None:
    with pytest.raises(Invalid, match="2048 at most"):
        checked_address(",".join(["host:1"] * 400))


@pytest.mark.parametrize("name", ["", "-a", "a b", "a:b", "ä", "a\n", "x" * 64])
def test_what_cannot_be_the_name_of_a_pod(name: str) -> None:
    with pytest.raises(Invalid, match="cannot be the name of a pod"):
        checked_name(name)


def test_names_and_weights_that_are_right() -> None:
    assert [checked_name(name) for name in ("a", "Pod-7_x.y", "7")] == ["a", "Pod-7_x.y", "7"]
    assert [checked_weight(weight) for weight in (0, MAX_WEIGHT)] == [0, MAX_WEIGHT]
    for weight in (-1, MAX_WEIGHT + 1):
        with pytest.raises(Invalid, match="weight: is"):
            checked_weight(weight)


def test_public_keys_are_a_jwk_set() -> None:
    assert keys_in("keys", {"keys": [KEY]}) == (KEY,)


@pytest.mark.parametrize("member", ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
def test_a_private_half_is_refused(member: str) -> None:
    with pytest.raises(Invalid, match=rf"w.keys\[1\]: has {member}, which only"):
        keys_in("w", {"keys": [KEY, {**KEY, member: "x"}]})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "must be a JWK Set"),
        ({}, "must be a JWK Set"),
        ({"keys": {}}, "must be a JWK Set"),
        ({"keys": [1]}, r"keys\[0\]: must be a JSON web key"),
        ({"keys": [{**KEY, "kid": ""}]}, r"keys\[0\]: must be a JSON web key with kty, kid, alg"),
        ({"keys": [KEY] * (MAX_KEYS + 1)}, "64 keys"),
        ({"keys": [{**KEY, "x": "a" * 50_000}]}, "49152 bytes"),
    ],
)
def test_what_is_no_jwk_set(document: Any, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        keys_in("w", document)
