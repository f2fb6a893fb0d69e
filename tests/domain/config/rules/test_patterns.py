"""Patterns that users write: what is one, and that no pattern costs much."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.rules.patterns import Patterns, pattern_of, read_pattern
from domain.errors import Invalid


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("/^v1/", "v1.2", True),
        ("/^v1/", "av1", False),
        ("/b/", "abc", True),
        (r"/a\/b/", "a/b", True),
        ("/a/b/", "a/b", True),
        ("/ABC/i", "xabcx", True),
        ("/ABC/", "abc", False),
        ("/^b$/", "a\nb", False),
        ("/^b$/m", "a\nb", True),
        ("/a.b/", "a\nb", False),
        ("/a.b/s", "a\nb", True),
        ("/a+/U", "aa", True),
        ("//", "", True),
        ("/^.ö$/", "äö", True),
        ("/^a.$/", "a\ud800", True),
    ],
)
def test_search(pattern: str, text: str, expected: bool) -> None:
    assert read_pattern(pattern).matches(text) is expected


@pytest.mark.parametrize("text", ["", "/", "abc", "abc/", "/abc", "/abc/x", "/(/", "/(?!a)b/", r"/(a)\1/", "/a{2000}/"])
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(Invalid, match="must be a regular expression with re2 syntax"):
        read_pattern(text)


def test_a_text_is_compiled_once_also_when_it_is_wrong() -> None:
    patterns = Patterns()
    assert patterns.read("/ab/") is patterns.read("/ab/")
    for _ in range(2):
        with pytest.raises(Invalid, match="re2 syntax"):
            patterns.of("(")


def test_patterns_are_the_same_if_they_are_written_the_same() -> None:
    assert pattern_of("a") == pattern_of("a")
    assert pattern_of("a") != pattern_of("b")


def test_all_patterns_together_have_a_limit() -> None:
    patterns = Patterns(instructions=2_000)
    patterns.of("x{900}")
    patterns.of("y{900}")
    with pytest.raises(Invalid, match="too large together"):
        patterns.of("z")
    assert patterns.of("x{900}").matches("x" * 900)


def test_a_pattern_that_is_too_large_is_paid_for() -> None:
    patterns = Patterns(instructions=1_000)
    with pytest.raises(Invalid, match="too large"):
        patterns.of(r"\pL{1000}")
    with pytest.raises(Invalid, match="too large together"):
        patterns.of("z")


def test_all_searches_together_have_a_limit() -> None:
    patterns = Patterns(searched=1_000)
    pattern = patterns.of("^b")
    assert not patterns.search(pattern, "a" * 900)
    with pytest.raises(Invalid, match="too much text"):
        patterns.search(pattern, "a" * 900)


@given(st.text())
def test_any_text_is_a_pattern_or_invalid(text: str) -> None:
    try:
        pattern = pattern_of(text)
    except Invalid:
        return
    assert pattern.matches(text) in (True, False)
