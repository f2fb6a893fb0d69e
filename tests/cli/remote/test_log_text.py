"""The text of logs: marks and sequences go wherever a piece ends; and what of a log is new."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.remote.log_text import LogText
from cli.remote.printed_log import Differs, PrintedLog
from cli.remote.server_events import Event, events
from cli.remote.stored_log import decoded

PIECES = [
    "section_start:17:a[collapsed=true]\r\x1b[0K",
    "section_end:18:a\r\x1b[0K",
    "section_",
    "sections are",
    "\x1b[31;1m",
    "\x1b[0m",
    "\x1b[0K",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x1bPq\x1b\\",
    "\x1b(B",
    "\x1b",
    "\x9b2J",
    "\r",
    "\r\n",
    "\n",
    "s",
    "plain: grün",
    "\x07\x00",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def cleaned(pieces: list[str], *, terminal: bool = False, colour: bool = False) -> str:
    text = LogText(terminal=terminal, colour=colour)
    return "".join(map(text.feed, pieces)) + text.end()


def test_what_a_file_and_a_terminal_get() -> None:
    log = "section_start:1:x\r\x1b[0K\x1b[32mok\x1b[0m\r\n1%\r2%\nsection_end:2:x\r\x1b[0K\x1b]52;c;x\x07end \x1b[2Jx"
    assert cleaned([log]) == "ok\n1%\n2%\nend x"
    assert cleaned([log], terminal=True, colour=True) == "\x1b[32mok\x1b[0m\n1%\r2%\nend x"
    assert cleaned([log], terminal=True) == "ok\n1%\r2%\nend x"


@settings(max_examples=300, database=None)
@given(TEXTS, st.data())
def test_it_does_not_matter_where_pieces_end(log: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=6)))
    pieces = [log[start:end] for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    for terminal in (False, True):
        assert cleaned(pieces, terminal=terminal, colour=True) == cleaned([log], terminal=terminal, colour=True)


@settings(max_examples=200, database=None)
@given(TEXTS)
def test_nothing_that_steers_a_terminal_gets_through(log: str) -> None:
    shown = cleaned([log])
    assert all(letter.isprintable() or letter in "\n\t" for letter in shown)


def test_what_looks_like_the_beginning_of_a_sequence_is_not_held_for_ever() -> None:
    text = LogText(terminal=True, colour=True)
    assert text.feed("\x1b]" + "x" * 5000) != ""


def test_printed_once_though_sent_anew() -> None:
    log = PrintedLog()
    assert log.feed(0, "one two ", 8) == "one two "
    log.reset()
    assert not log.complete
    assert log.feed(0, "one ", 4) == ""
    assert log.feed(4, "two three", 13) == "three"
    assert (log.complete, log.offset) == (True, 13)


def test_another_log_is_noticed() -> None:
    log = PrintedLog()
    log.feed(0, "one two ", 8)
    log.reset()
    with pytest.raises(Differs):
        log.feed(0, "one tow and", 11)


def test_what_was_left_out_stays_left_out() -> None:
    log = PrintedLog.starting_at(4)
    assert log.feed(4, "two ", 8) == "two "
    log.reset()
    assert log.feed(0, "one ", 4) == ""
    assert log.feed(4, "two 3", 9) == "3"
    # Also if nothing was printed before
    log = PrintedLog.starting_at(4)
    log.reset()
    assert log.feed(0, "one two ", 8) == "two "


def test_bytes_that_are_no_text_count_as_bytes() -> None:
    log = PrintedLog()
    assert log.feed(0, "a\N{REPLACEMENT CHARACTER}", 2) == "a\N{REPLACEMENT CHARACTER}"
    assert log.feed(2, "b", 3) == "b"
    assert log.offset == 3


def test_events_are_read_wherever_a_chunk_ends() -> None:
    log = 'event: log\nid: 0-3\ndata: {"text": "a\u2028ü"}\n\n'
    stream = f": hi\n\nretry: 5\n\n{log}event: end\ndata: 1\ndata: 2\n\ndata: cut"
    whole = list(events([stream.encode()]))
    assert whole == [Event(""), Event("log", '{"text": "a\u2028ü"}', "0-3"), Event("end", "1\n2")]
    assert list(events(bytes([byte]) for byte in stream.encode())) == whole


@given(st.text(max_size=20), st.lists(st.integers(0, 60), max_size=4))
def test_decoded_pieces_know_where_they_begin(text: str, cuts: list[int]) -> None:
    raw = text.encode()
    places = sorted({min(cut, len(raw)) for cut in cuts})
    parts = [raw[start:end] for start, end in zip([0, *places], [*places, len(raw)], strict=True)]
    found = list(decoded(iter(parts), 5))
    assert "".join(piece for _, piece in found) == text
    for offset, piece in found:
        assert raw[offset - 5 :].startswith(piece.encode())
