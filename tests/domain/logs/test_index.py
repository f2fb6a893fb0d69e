"""The index of a log, however it grows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.logs import index, lines
from domain.logs.index import BEGIN, Part, extended, lines_of
from domain.logs.lines import line_end
from domain.logs.styles import PLAIN, style_after

STAMP = b"2026-01-02T03:04:05.123456Z 01O"
PIECES = [
    b"a", b"some words ", b"\n", b"\n", b"\r\n", b"\r", b"\xc3\xa4", b"\xff", b"x" * 90,
    b"\x1b[31m", b"\x1b[0m", b"\x1b[1;38;5;200m", b"\x1b[", b"\x1b]8;;https://example.com\x07", b"<b>",
    b"\n" + STAMP + b" ", b"\n" + STAMP + b"+", b"2026-01-02",
    b"section_start:1:one[collapsed=true]\r\x1b[0KHead", b"section_end:5:one\r\x1b[0K",
    b"section_start:2:two\r", b"\nsection_end:7:two\r\x1b[0K\n", b"section_",
    b"\nERROR: Job failed: exit code 1\n", b"\nx.c:1: error: no\n",
]  # fmt: skip
LOGS = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and long lines small enough to be met."""
    monkeypatch.setattr(index, "BLOCK", 100)
    for module in (index, lines):
        for name, value in (("HEAD", 80), ("TAIL", 90), ("LONG", 170)):
            monkeypatch.setattr(module, name, value)


def whole(log: bytes) -> Part:
    return BEGIN.followed_by(extended(BEGIN.after, log, is_last=True))


def grown(log: bytes, cuts: list[int]) -> Part:
    """The index of a log that came in pieces, each read from where the index ends."""
    part = BEGIN
    for cut in (*sorted(cuts), len(log)):
        part = part.followed_by(extended(part.after, log[part.after.offset : cut], is_last=False))
    return part.followed_by(extended(part.after, log[part.after.offset :], is_last=True))


@given(LOGS, st.data())
@settings(max_examples=1_000)
def test_an_index_in_pieces_is_that_of_the_whole(log: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(log)), max_size=6))
    assert grown(log, cuts) == whole(log)


@given(LOGS)
def test_checkpoints_stand_at_lines(log: bytes) -> None:
    for checkpoint in whole(log).checkpoints:
        before = log[: checkpoint.offset]
        if before.endswith(b"\n") or before != log:
            assert lines.joined(before).count(b"\n") + 1 == checkpoint.line
            assert not before or before.endswith(b"\n")


@given(LOGS)
def test_lines_are_counted(log: bytes) -> None:
    found, place = 0, 0
    while place < len(log):
        end = line_end(log, place, is_last=True)
        place = len(log) if end < 0 else end + 1
        found += 1
    after = whole(log).after
    assert (after.offset, after.start) == (len(log), len(log))
    assert after.lines == found == lines_of(after, len(log))


@given(LOGS, st.data())
def test_a_growing_log_has_no_line_that_it_will_not_have(log: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(log)))
    part = extended(BEGIN.after, log[:cut], is_last=False)
    assert lines_of(part.after, cut) <= whole(log).after.lines


@given(LOGS)
def test_colours_are_those_of_all_before(log: bytes) -> None:
    if max(map(len, log.split(b"\n")), default=0) <= lines.LONG and b"+" not in log:
        for checkpoint in whole(log).checkpoints:
            assert checkpoint.style == style_after(log[: checkpoint.offset], PLAIN)
