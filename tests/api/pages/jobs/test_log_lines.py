"""Lines of logs as HTML."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.pages.jobs import log_lines
from api.pages.jobs.log_lines import Line, heading_of, lines_in
from domain.logs import index, lines
from domain.logs.index import BEGIN, extended
from domain.logs.styles import PLAIN
from tests.domain.logs.test_index import LOGS

STAMP = b"2026-01-02T03:04:05.123456Z 01O"


def shown(data: bytes) -> list[str]:
    return [line.html for line in lines_in(data, PLAIN)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"10%\r50%\r100%\n", ["100%"]),
        (b"10%\r50%\r100%\r\n", ["100%"]),
        (b"\x1b[31m10%\r100%\n", ['<span class="f1">100%</span>']),
        (b"a\n\nb", ["a", "", "b"]),
        (b"\xff\n", ["\ufffd"]),
        (b"<b>\n", ["&lt;b&gt;"]),
        (STAMP + b" a\n" + STAMP + b" b\n", ["a", "b"]),
        (STAMP + b" half\n" + STAMP + b"+ and half\n", ["half and half"]),
        (
            b"\x1b[0Ksection_start:1:build\r\x1b[0KBuild it\nx\n\x1b[0Ksection_end:2:build\r\x1b[0K\n",
            ["Build it", "x", ""],
        ),
        (b"\x1b[0Ksection_end:2:a\r\x1b[0K\x1b[0Ksection_start:2:b[collapsed=true]\r\x1b[0KNext\n", ["Next"]),
    ],
)
def test_lines(data: bytes, expected: list[str]) -> None:
    assert shown(data) == expected


def test_a_line_says_what_it_is() -> None:
    data = (
        STAMP
        + b" section_start:1:x\r\x1b[0K<i>Go\n"
        + STAMP
        + b" x.c:1: error: no\n2026-02-31T03:04:05.123456Z 01O x\n"
    )
    assert list(lines_in(data, PLAIN)) == [
        Line("&lt;i&gt;Go", 1767323045123, is_heading=True),
        Line("x.c:1: error: no", 1767323045123, is_error=True),
        Line("x"),
    ]


def test_of_a_long_line_its_ends_are_shown() -> None:
    line = b"\x1b[31mbegin " + b"x" * 100_000 + b" end"
    (found,) = lines_in(line + b"\n", PLAIN)
    assert found.html.startswith('<span class="f1">begin xxx')
    assert '</span><span class="cut"></span><span class="f1">xxx' in found.html
    assert found.html.endswith("x end</span>")
    assert len(found.html) < lines.LONG + 200
    assert list(lines_in(line[:50_000], PLAIN, 0, line[-40_000:] + b"\n")) == [found]
    (progress,) = lines_in(b"x\r" * 100_000 + b"done\n", PLAIN)
    assert progress.html == "done"


def test_a_heading_is_escaped() -> None:
    assert heading_of("\x1b[0K\x1b[36;1m<b>\x1b[0;m") == '<span class="f6 bold">&lt;b&gt;</span>'


def test_whatever_a_line_holds_it_has_no_tags_of_its_own() -> None:
    html = "".join(shown(b'<script>\x1b[31;38;2;1;2;3m"\'><img>\n\x1b]8;;https://x/"onclick=a\x07<x>\n'))
    assert "<script" not in html
    assert '"onclick' not in html


def _in_blocks(log: bytes) -> list[Line]:
    """As `log_windows` draws it: each block alone, of too long lines only what counts."""
    found = BEGIN.followed_by(extended(BEGIN.after, log, is_last=True))
    points = found.checkpoints
    drawn: list[Line] = []
    for number, begin in enumerate(points):
        end = points[number + 1].offset if number + 1 < len(points) else len(log)
        if end - begin.offset <= index.BLOCK + lines.LONG:
            drawn += lines_in(log[begin.offset : end], begin.style)
        else:
            data = log[begin.offset : begin.offset + index.BLOCK + lines.HEAD + lines.STAMP_LENGTH]
            drawn += lines_in(data, begin.style, 0, log[end - lines.TAIL - 1 : end])
    return drawn


@given(LOGS, st.integers(0, 5))
@settings(max_examples=500)
def test_windows_joined_are_the_whole_log(log: bytes, skipped: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(index, "BLOCK", 100)
        for module in (index, lines, log_lines):
            for name, value in (("HEAD", 80), ("TAIL", 90), ("LONG", 170)):
                patched.setattr(module, name, value)
        whole = list(lines_in(log, PLAIN))
        assert _in_blocks(log) == whole
        assert list(lines_in(log, PLAIN, skipped)) == whole[skipped:]
