"""Random tokens and their form."""

import base64
import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.secret_token import (
    PERSONAL,
    REGISTRATION,
    RUNNER,
    RUNNER_BY_REGISTRATION,
    Route,
    base36,
    digest,
    plain_token,
    read_route,
    routable_token,
)
from domain.errors import Invalid


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
    assert payload == b"r" * 16 + b"c:3\no:rs\nt:1" + bytes([16])


def test_routable_tokens_of_the_same_place_differ() -> None:
    assert routable_token(RUNNER, {"c": 1}) != routable_token(RUNNER, {"c": 1})


RANDOM = bytes(range(16))
GOLDEN = {
    "glrt-AAECAwQFBgcICQoLDA0OD2M6MQpvOjAKdDoxEA.01.121o3baqo": (
        RUNNER,
        {"c": 1, "o": 0, "t": 1},
        Route(pod_number=0, organisation_id=0, runner_type=1),
    ),
    "glrtr-AAECAwQFBgcICQoLDA0OD2M6MQpvOjEwCnQ6MhA.01.131xrnl77": (
        RUNNER_BY_REGISTRATION,
        {"c": 1, "o": 36, "t": 2},
        Route(pod_number=0, organisation_id=36, runner_type=2),
    ),
    "glrt-AAECAwQFBgcICQoLDA0OD2M6NmJrCm86Mmdvc2E3cGEyZ3YKdDozEA.01.1i1tmpz7a": (
        RUNNER,
        {"c": 8192, "o": 2**53 - 1, "t": 3},
        Route(pod_number=8191, organisation_id=2**53 - 1, runner_type=3),
    ),
    "glrt-AAECAwQFBgcICQoLDA0OD2M6MwpnOjUKbzpycwpwOjcKdDozCnU6ORA.01.1j0x00ryc": (
        RUNNER,
        {"u": 9, "t": 3, "p": 7, "o": 1000, "g": 5, "c": 3},
        Route(pod_number=2, organisation_id=1000, runner_type=3),
    ),
    "GR1348941AAECAwQFBgcICQoLDA0OD2M6MQpvOjEwEA.01.0y09uhb3d": (
        REGISTRATION,
        {"c": 1, "o": 36},
        Route(pod_number=0, organisation_id=36),
    ),
}
"""Token -> what it is made of besides `RANDOM`, and where it leads."""

PAYLOAD_FIRST = {
    "glpat-bzox79Of-KE9FD2LjoXXF4CvyxA.01.0r0l8l6ir": None,
    "glrt-YzoxCm86MAp0OjEAAQIDBAUGBwgJCgsMDQ4PEA.01.121djrvjg": Route(0, 0, 1),
    "glrtr-YzoxCm86MTAKdDoyAAECAwQFBgcICQoLDA0ODxA.01.130uyxltd": Route(0, 36, 2),
    "glrt-Yzo2YmsKbzoyZ29zYTdwYTJndgp0OjMAAQIDBAUGBwgJCgsMDQ4PEA.01.1i0zp2lqk": Route(8191, 2**53 - 1, 3),
    "glrt-YzozCmc6NQpvOnJzCnA6Nwp0OjMKdTo5AAECAwQFBgcICQoLDA0ODxA.01.1j0ie8t09": Route(2, 1000, 3),
}
"""Tokens as we once made them, in use for ever; the first is an example that GitLab published, without a cell."""


@pytest.mark.parametrize("token", GOLDEN)
def test_the_form_stays_what_it_is(token: str) -> None:
    prefix, route, leads_to = GOLDEN[token]
    assert routable_token(prefix, route, RANDOM) == token
    assert read_route(token) == leads_to


@pytest.mark.parametrize("token", PAYLOAD_FIRST)
def test_tokens_of_the_form_before_still_lead_where_they_belong(token: str) -> None:
    assert read_route(token) == PAYLOAD_FIRST[token]


@given(st.binary(min_size=16, max_size=16), st.integers(1, 8192), st.integers(0, 2**53), st.integers(0, 3))
def test_both_forms_are_told_apart(random: bytes, cell: int, organisation: int, runner_type: int) -> None:
    payload = f"c:{base36(cell)}\no:{base36(organisation)}\nt:{runner_type}".encode()
    for content in (random + payload, payload + random):
        assert read_route(enclosing(content + bytes([16]))) == Route(cell - 1, organisation, runner_type)


@given(st.integers(0, 8191), st.integers(0, 2**53), st.integers(0, 3))
def test_a_route_comes_back(pod_number: int, organisation: int, runner_type: int) -> None:
    token = routable_token(RUNNER, {"c": pod_number + 1, "o": organisation, "t": runner_type})
    assert read_route(token) == Route(pod_number, organisation, runner_type)


@given(st.sampled_from([token for token in (*GOLDEN, *PAYLOAD_FIRST) if token.startswith("glrt")]), st.data())
def test_a_mistyped_token_leads_nowhere(token: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda letter: letter != token[place]))
    for wrong in (token[:place] + other + token[place + 1 :], token[:place] + token[place + 1 :], token + other):
        assert read_route(wrong) is None


def with_checksum(text: str) -> str:
    """A token that was mistyped by nobody."""
    return text + base36(zlib.crc32(text.encode()), 7)


def enclosing(content: bytes) -> str:
    """A token of any content, with right length and checksum."""
    encoded = base64.urlsafe_b64encode(content).rstrip(b"=").decode()
    return with_checksum(f"glrt-{encoded}.01.{base36(len(encoded), 2)}")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "glrt-",
        "glpat-bzox79Of-KE9FD2LjoXXF4CvyxA.0r03gxo7s",
        enclosing(b"c:1" + RANDOM + bytes([15])),
        enclosing(RANDOM + b"c:1" + bytes([15])),
        enclosing(RANDOM[:-1] + b"c:1" + bytes([16])),
        enclosing(RANDOM + b"c:0" + bytes([16])),
        enclosing(RANDOM + b"o:1\nc:1" + bytes([16])),
        enclosing(RANDOM + b"c:1\n" + bytes([16])),
        enclosing(RANDOM + b"c:\xff" + bytes([16])),
        enclosing(b"c:0" + RANDOM + bytes([16])),
        enclosing(b"o:1" + RANDOM + bytes([16])),
        enclosing(b"o:1\nc:1" + RANDOM + bytes([16])),
        enclosing(b"c:1\nc:2" + RANDOM + bytes([16])),
        enclosing(b"c:01" + RANDOM + bytes([16])),
        enclosing(b"c:-1" + RANDOM + bytes([16])),
        enclosing(b"c:1\n" + RANDOM + bytes([16])),
        enclosing(b"c:1\nx:1" + RANDOM + bytes([16])),
        enclosing(b"c:\xff" + RANDOM + bytes([16])),
        enclosing(b"\x10"),
        with_checksum("glrt-c.01.01"),
        "glrt-" + "A" * 100_000,
    ],
)
def test_what_is_no_routable_token_leads_nowhere(token: str) -> None:
    assert read_route(token) is None


def test_a_route_has_a_longest_form() -> None:
    largest = 36**13 - 1
    routable_token(RUNNER, dict.fromkeys("cgoptu", largest))
    with pytest.raises(Invalid, match="159 at most"):
        routable_token(RUNNER, dict.fromkeys("abcdefghijk", largest))
