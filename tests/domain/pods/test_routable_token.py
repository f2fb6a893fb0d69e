"""The form of tokens that name where they belong."""

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.pods.routable_token import Route, base36, read_route, spelled

RUNNER = "glrt-"
RANDOM = bytes(range(16))


@given(st.integers(0, 2**64))
def test_base36_is_what_int_reads(value: int) -> None:
    assert int(base36(value) or "0", 36) == value


@pytest.mark.parametrize(("value", "width", "text"), [(0, 1, "0"), (35, 1, "z"), (36, 1, "10"), (5, 3, "005")])
def test_base36_is_padded(value: int, width: int, text: str) -> None:
    assert base36(value, width) == text


def test_a_routable_token_names_where_it_belongs_and_has_a_checksum() -> None:
    token = spelled(RUNNER, Route(2, 1000, 1), b"r" * 16)
    text, tail = token[:-7], token[-7:]
    assert int(tail, 36) == zlib.crc32(text.encode())
    encoded, version, length = text.removeprefix(RUNNER).split(".")
    assert version == "01"
    assert int(length, 36) == len(encoded)
    payload = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    assert payload == b"r" * 16 + b"c:3\no:rs\nt:1" + bytes([16])


GOLDEN = {
    "glrt-AAECAwQFBgcICQoLDA0OD2M6MQpvOjAKdDoxEA.01.121o3baqo": (RUNNER, Route(0, 0, 1)),
    "glrtr-AAECAwQFBgcICQoLDA0OD2M6MQpvOjEwCnQ6MhA.01.131xrnl77": ("glrtr-", Route(0, 36, 2)),
    "glrt-AAECAwQFBgcICQoLDA0OD2M6NmJrCm86Mmdvc2E3cGEyZ3YKdDozEA.01.1i1tmpz7a": (RUNNER, Route(8191, 2**53 - 1, 3)),
    "glrt-AAECAwQFBgcICQoLDA0OD2M6MwpnOjUKbzpycwpwOjcKdDozCnU6ORA.01.1j0x00ryc": (
        RUNNER,
        Route(2, 1000, 3, project_id=7, group_id=5, user_id=9),
    ),
    "GR1348941AAECAwQFBgcICQoLDA0OD2M6MQpvOjEwEA.01.0y09uhb3d": ("GR1348941", Route(0, 36)),
}
"""Token -> what it is made of besides `RANDOM`, which is where it leads."""

PAYLOAD_FIRST = {
    "glpat-bzox79Of-KE9FD2LjoXXF4CvyxA.01.0r0l8l6ir": None,
    "glrt-YzoxCm86MAp0OjEAAQIDBAUGBwgJCgsMDQ4PEA.01.121djrvjg": Route(0, 0, 1),
    "glrtr-YzoxCm86MTAKdDoyAAECAwQFBgcICQoLDA0ODxA.01.130uyxltd": Route(0, 36, 2),
    "glrt-Yzo2YmsKbzoyZ29zYTdwYTJndgp0OjMAAQIDBAUGBwgJCgsMDQ4PEA.01.1i0zp2lqk": Route(8191, 2**53 - 1, 3),
    "glrt-YzozCmc6NQpvOnJzCnA6Nwp0OjMKdTo5AAECAwQFBgcICQoLDA0ODxA.01.1j0ie8t09": Route(2, 1000, 3, 7, 5, 9),
}
"""Tokens as we once made them, in use for ever; the first is an example that GitLab published, without a cell."""


@pytest.mark.parametrize("token", GOLDEN)
def test_the_form_stays_what_it_is(token: str) -> None:
    prefix, route = GOLDEN[token]
    assert spelled(prefix, route, RANDOM) == token
    assert read_route(token) == route


@pytest.mark.parametrize("token", PAYLOAD_FIRST)
def test_tokens_of_the_form_before_still_lead_where_they_belong(token: str) -> None:
    assert read_route(token) == PAYLOAD_FIRST[token]


@given(st.binary(min_size=16, max_size=16), st.integers(1, 8192), st.integers(0, 2**53), st.integers(0, 3))
def test_both_forms_are_told_apart(random: bytes, cell: int, organisation: int, runner_type: int) -> None:
    payload = f"c:{base36(cell)}\no:{base36(organisation)}\nt:{runner_type}".encode()
    for content in (random + payload, payload + random):
        assert read_route(enclosing(content + bytes([16]))) == Route(cell - 1, organisation, runner_type)


IDS = st.integers(0, 2**53)
ROUTES = st.builds(Route, st.integers(0, 8191), IDS, st.integers(0, 3), IDS, IDS, IDS)


@given(st.binary(min_size=16, max_size=16), ROUTES)
def test_a_route_comes_back(random: bytes, route: Route) -> None:
    token = spelled(RUNNER, route, random)
    assert read_route(token) == route
    assert len(token) < 255


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
