"""What nobody would see is shown."""

import unicodedata

import pytest

from domain.diffs.visible_text import deceives, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("if access\u202e ⁦// admin⁩ ⁦begin", "if access[U+202E] [U+2066]// admin[U+2069] [U+2066]begin"),
        ("a\x00b\x1b[31m\x7f", "a␀b␛[31m␡"),
        ("a\tb\nc", "a\tb\nc"),
        ("x\r", "x␍"),
        ("zero\u200bwidth\ufeff\x85", "zero[U+200B]width[U+FEFF][U+0085]"),
        ("Straße 日本 🙂", "Straße 日本 🙂"),
    ],
)
def test_what_nobody_would_see_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_nothing_that_turns_text_round_is_left() -> None:
    """By Unicode's own classes, of all characters there are."""
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    every = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    left = [char for char in visible(every) if unicodedata.bidirectional(char) in turning]
    assert left == []
    assert not any(unicodedata.category(char) == "Cc" for char in visible(every) if char not in "\t\n")
    assert all(deceives(char) for char in every if unicodedata.bidirectional(char) in turning)
