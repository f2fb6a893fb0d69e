import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steps.ways.docker_frames import Frames

FRAMES = st.lists(st.tuples(st.sampled_from((1, 2)), st.binary(max_size=40)), max_size=12)


def packed(frames: list[tuple[int, bytes]]) -> bytes:
    """As the reference has it: the stream, three zeros, the size as four bytes, the greatest first, and the content."""
    return b"".join(bytes([stream, 0, 0, 0]) + struct.pack(">L", len(data)) + data for stream, data in frames)


@given(FRAMES, st.data())
def test_frames_come_out_however_they_are_cut(frames: list[tuple[int, bytes]], data: st.DataObject) -> None:
    content = packed(frames)
    places = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=20)))
    reading, got = Frames(), {1: b"", 2: b""}
    order: list[int] = []
    for start, end in zip([0, *places], [*places, len(content)], strict=True):
        for stream, piece in reading.take(content[start:end]):
            assert piece
            got[stream] += piece
            order += [stream] * len(piece)
    assert got == {stream: b"".join(piece for one, piece in frames if one == stream) for stream in (1, 2)}
    assert order == [stream for stream, piece in frames for _ in piece]
    assert reading.is_between


@given(FRAMES.filter(lambda frames: bool(packed(frames))), st.data())
def test_a_cut_in_a_frame_is_seen(frames: list[tuple[int, bytes]], data: st.DataObject) -> None:
    content = packed(frames)
    ends = {len(packed(frames[:count])) for count in range(len(frames) + 1)}
    cut = data.draw(st.integers(0, len(content)))
    reading = Frames()
    list(reading.take(content[:cut]))
    assert reading.is_between == (cut in ends)


def test_a_terminals_bytes_are_no_frames() -> None:
    with pytest.raises(ConnectionError, match="no frames of two streams"):
        list(Frames().take(b"Welcome to the machine"))


def test_a_frame_of_which_a_part_has_come_gives_that_part() -> None:
    reading = Frames()
    assert list(reading.take(b"\x01\0\0\0\xff\xff\xff\xffabc")) == [(1, b"abc")]
    assert list(reading.take(b"d")) == [(1, b"d")]
    assert not reading.is_between
