"""Pieces of logs as lines."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.pages.jobs.ansi import PLAIN, Style
from api.pages.jobs.log_lines import State, render_piece

STAMP = b"2026-01-02T03:04:05.123456Z 01O"


def lines(data: bytes, *, whole: bool = True) -> list[str]:
    html = render_piece(data, State(), whole=whole).html
    return re.findall(r'<div class="line[^"]*" id="L\d+">(.*?)</div>', html)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"10%\r50%\r100%\n", ["100%"]),
        (b"\x1b[31m10%\r100%\n", ['<span class="f1">100%</span>']),
        (b"a\n\nb", ["a", "", "b"]),
        (b"\xff\n", ["\ufffd"]),
        (b"<b>\n", ["&lt;b&gt;"]),
        (STAMP + b" a\n" + STAMP + b" b\n", ["a", "b"]),
        (STAMP + b" half\n" + STAMP + b"+ and half\n", ["half and half"]),
        (b"\x1b[0Ksection_start:1:build\r\x1b[0KBuild it\nx\n\x1b[0Ksection_end:2:build\r\x1b[0K\n", ["Build it", "x"]),
        (b"\x1b[0Ksection_end:2:a\r\x1b[0K\x1b[0Ksection_start:2:b[collapsed=true]\r\x1b[0KNext\n", ["Next"]),
    ],
)
def test_lines(data: bytes, expected: list[str]) -> None:
    assert lines(data) == expected


def test_the_begin_of_a_section_is_a_heading() -> None:
    piece = render_piece(b"section_start:1:x\r\x1b[0K<i>Go\n", State(), whole=True)
    assert piece.html == '<div class="line heading" id="L1">&lt;i&gt;Go</div>'


def test_an_unfinished_line_is_the_tail_and_comes_again() -> None:
    first = render_piece(b"one\n\x1b[31mtwo", State(), whole=False)
    assert first.consumed == 4
    assert "two" not in first.html
    assert '<span class="f1">two</span>' in first.tail
    second = render_piece(b"\x1b[31mtwo and more\n", first.state, whole=False)
    assert second.html == '<div class="line" id="L2"><span class="f1">two and more</span></div>'
    assert second.tail == ""


def test_a_state_survives_its_way_through_an_address() -> None:
    state = State(12, Style("f1", "b4", frozenset({"bold"})))
    assert State.parse(str(state)) == state


@pytest.mark.parametrize("text", ["", "x", "-1", "1e9", "²", "9" * 40, '0."><script>', "." * 5000])
def test_a_wrong_state_does_no_harm(text: str) -> None:
    assert State.parse(text) == State(0, PLAIN)


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\x1b[31m", b"\x1b[0m", b"\xc3\xa4", b"<"]), max_size=30), st.data()
)
def test_a_log_looks_the_same_in_pieces(parts: list[bytes], data: st.DataObject) -> None:
    log = b"".join(parts)
    cut = data.draw(st.integers(0, len(log)))
    once = render_piece(log, State(), whole=True)
    first = render_piece(log[:cut], State(), whole=False)
    second = render_piece(log[first.consumed :], first.state, whole=True)
    assert first.html + second.html == once.html
    assert second.state == once.state
