"""The head of a push and the response to it, as bytes."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid, TooLarge
from git.transport.pkt_line import FLUSH, packet, packets
from git.transport.push import (
    COMMAND_LIMIT,
    HEAD_LIMIT,
    OPTION_LIMIT,
    RefUpdate,
    read_push,
    refused,
    reported,
    with_message,
)

ZERO, ONE, TWO = "0" * 40, "1" * 40, "2" * 40
HEAD = (
    packet(f"{ZERO} {ONE} refs/heads/a/b\0 report-status side-band-64k push-options\n".encode())
    + packet(f"{ONE} {ZERO} refs/tags/v1".encode())
    + packet(f"{ONE} {TWO} refs/notes/x".encode())
    + FLUSH
    + packet(b"ci.skip")
    + packet("name=ä".encode())
    + FLUSH
)


async def body_of(data: bytes, size: int = 7) -> AsyncIterator[bytes]:
    """The bytes in chunks of `size`."""
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(size=st.integers(1, 400), pack=st.binary(max_size=200))
async def test_commands_options_and_replay_whatever_the_chunks(size: int, pack: bytes) -> None:
    push = await read_push(body_of(HEAD + pack, size))
    assert push.commands == (
        RefUpdate(ZERO, ONE, "refs/heads/a/b"),
        RefUpdate(ONE, ZERO, "refs/tags/v1"),
        RefUpdate(ONE, TWO, "refs/notes/x"),
    )
    assert push.options == ("ci.skip", "name=ä")
    assert "side-band-64k" in push.capabilities
    assert b"".join([chunk async for chunk in push.body]) == HEAD + pack


def test_properties_of_updates() -> None:
    branch, tag = RefUpdate(ZERO, ONE, "refs/heads/a/b"), RefUpdate(ONE, ZERO, "refs/tags/v1")
    other = RefUpdate(ONE, TWO, "refs/notes/x")
    assert (branch.is_branch, branch.is_tag, branch.is_create, branch.is_delete) == (True, False, True, False)
    assert (tag.is_branch, tag.is_tag, tag.is_create, tag.is_delete) == (False, True, False, True)
    assert (other.is_branch, other.is_tag) == (False, False)
    assert [update.short_name for update in (branch, tag, other)] == ["a/b", "v1", "refs/notes/x"]


async def test_options_are_read_only_when_agreed() -> None:
    data = packet(f"{ZERO} {ONE} refs/heads/a\0 report-status".encode()) + FLUSH + b"PACK"
    push = await read_push(body_of(data))
    assert push.options == ()
    assert b"".join([chunk async for chunk in push.body]) == data


@pytest.mark.parametrize("data", [FLUSH, b""])
async def test_probe_has_no_commands(data: bytes) -> None:
    push = await read_push(body_of(data))
    assert push.commands == ()
    assert b"".join([chunk async for chunk in push.body]) == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GET / HTTP/1.1", "no git protocol"),
        (b"00_1", "no git protocol"),
        (b"0003", "no git protocol"),
        (HEAD[:50], "ends in the middle"),
        (HEAD[:-4], "ends in the middle"),
        (packet(b"push-cert\0 x"), "Signed pushes"),
        (packet(f"{ONE} refs/heads/a".encode()), "no ref update"),
        (packet(f"{ZERO} {ONE} refs/heads/".encode() + b"\xff"), "not UTF-8"),
    ],
)
async def test_nonsense_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        await read_push(body_of(data))


async def test_limits() -> None:
    line = packet(f"{ZERO} {ONE} refs/heads/a".encode())
    with pytest.raises(TooLarge, match=f"more than {COMMAND_LIMIT} refs"):
        await read_push(body_of(line * (COMMAND_LIMIT + 1) + FLUSH, 65536))
    long = packet(f"{ZERO} {ONE} refs/heads/{'a' * 65000}".encode())
    with pytest.raises(TooLarge, match=f"more than {HEAD_LIMIT} bytes"):
        await read_push(body_of(long * (HEAD_LIMIT // 65000 + 1) + FLUSH, 65536))
    options = packet(f"{ZERO} {ONE} refs/heads/a\0push-options".encode()) + FLUSH + packet(b"x") * (OPTION_LIMIT + 1)
    with pytest.raises(TooLarge, match="push options"):
        await read_push(body_of(options + FLUSH))


REPORT = packet(b"unpack ok\n") + packet(b"ok refs/heads/a\n") + packet(b"ng refs/heads/b non fast forward\n") + FLUSH
BANDED = packet(b"\x02Resolving\n") + packet(b"\x01" + REPORT[:9]) + packet(b"\x01" + REPORT[9:]) + FLUSH


@pytest.mark.parametrize("response", [REPORT, BANDED])
def test_report_of_git(response: bytes) -> None:
    assert reported(response) == {"refs/heads/a": "", "refs/heads/b": "non fast forward"}


@pytest.mark.parametrize("response", [b"", FLUSH, BANDED[:-6], b"nonsense"])
def test_no_report(response: bytes) -> None:
    assert reported(response) is None


def test_message_goes_on_band_two_before_the_end() -> None:
    response = with_message(BANDED, "see\nhttp://x")
    assert list(packets(response)) == [*list(packets(BANDED))[:-1], b"\x02see\nhttp://x\n", None]
    assert reported(response) == reported(BANDED)


@given(text=st.text(max_size=300), times=st.sampled_from([1, 400]))
def test_long_messages_are_cut_into_packets(text: str, times: int) -> None:
    response = with_message(BANDED, text * times)
    added = list(packets(response))[3:-1]
    assert all(line is not None and line[0] == 2 and len(line) <= 65516 for line in added)
    assert b"\x1b" not in b"".join(line[1:] for line in added if line)


@pytest.mark.parametrize("response", [REPORT, b"", FLUSH, b"nonsense", BANDED[:-4]])
def test_answer_without_side_band_stays_as_it_is(response: bytes) -> None:
    assert with_message(response, "hello") == response


async def test_a_refusal_names_every_ref_and_fits_into_packets() -> None:
    push = await read_push(body_of(HEAD))
    response = refused(push, "no\nway \x1b[31m")
    assert reported(response) == dict.fromkeys(("refs/heads/a/b", "refs/tags/v1", "refs/notes/x"), "no way [31m")
    many = packet(f"{ZERO} {ONE} refs/heads/0\0 report-status side-band".encode())
    many += b"".join(packet(f"{ZERO} {ONE} refs/heads/{n}".encode()) for n in range(1, 300)) + FLUSH
    response = refused(await read_push(body_of(many, 4096)), "no")
    assert len(reported(response) or {}) == 300
    assert all(line is None or len(line) <= 995 for line in packets(response))
    silent = packet(f"{ZERO} {ONE} refs/heads/0\0 ofs-delta".encode()) + FLUSH
    assert refused(await read_push(body_of(silent)), "no") == b""
