"""Random tokens and their form."""

import base64
import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.secret_token import PERSONAL, RUNNER, base36, digest, plain_token, routable_token


def test_only_a_hash_is_kept() -> None:
    assert digest("glpat-x") == hashlib.sha256(b"glpat-x").hexdigest()


def test_plain_tokens_are_random_and_long() -> None:
    made = {plain_token(PERSONAL) for _ in range(100)}
    assert len(made) == 100
    assert all(token.startswith("glpat-") and len(token) >= 6 + 26 for token in made)


@given(st.integers(0, 2**64))
def test_base36_is_what_int_reads(value: int) -> None:
    assert int(base36(value) or "0", 36) == value


@pytest.mark.parametrize(("value", "width", "text"), [(0, 1, "0"), (35, 1, "z"), (36, 1, "10"), (5, 3, "005")])
def test_base36_is_padded(value: int, width: int, text: str) -> None:
    assert base36(value, width) == text


def test_a_routable_token_names_where_it_belongs_and_has_a_checksum() -> None:
    token = routable_token(RUNNER, {"t": 1, "c": 3, "o": 1000}, random=b"r" * 16)
    text, tail = token[:-7], token[-7:]
    assert int(tail, 36) == zlib.crc32(text.encode())
    encoded, version, length = text.removeprefix(RUNNER).split(".")
    assert version == "01"
    assert int(length, 36) == len(encoded)
    payload = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    assert payload == b"c:3\no:rs\nt:1" + b"r" * 16 + bytes([16])


def test_routable_tokens_of_the_same_place_differ() -> None:
    assert routable_token(RUNNER, {"c": 1}) != routable_token(RUNNER, {"c": 1})
