"""Search in lines of a log."""

import pytest

from api.pages.jobs.log_search import finder, hits_in
from domain.errors import Invalid

STAMP = b"2026-01-02T03:04:05.123456Z 01O"
LOG = (
    b"one\nTwo two\n\x1b[31mth\x1b[0mree\n10%\r20%\rdone\r\n"
    b"section_start:1:four\r\x1b[0KHeading\n\nGr\xc3\x96\xc3\x9fe\n\xff\x1b]0;title\x07last"
)


def found(query: str, *, is_pattern: bool = False, is_exact: bool = False, data: bytes = LOG) -> list[int]:
    return hits_in(data, 101, finder(query, is_pattern=is_pattern, is_exact=is_exact), 100)


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("one", [101, 104]),
        ("TWO", [102]),
        ("three", [103]),
        ("20%", []),
        ("done", [104]),
        ("four", []),
        ("heading", [105]),
        ("gröSSe", []),
        ("größe", [107]),
        ("title", []),
        ("last", [108]),
        ("o", [101, 102, 104]),
    ],
)
def test_what_is_shown_is_found_whatever_its_case(query: str, lines: list[int]) -> None:
    assert found(query) == lines


def test_case_and_patterns_count_when_asked_for() -> None:
    assert found("two", is_exact=True) == [102]
    assert found("TWO", is_exact=True) == []
    assert found(r"^t\w+$", is_pattern=True) == [103]
    assert found(r"T.o", is_pattern=True, is_exact=True) == [102]
    assert found("x*", is_pattern=True) == list(range(101, 109))
    with pytest.raises(Invalid, match="re2"):
        found("(", is_pattern=True)


def test_stamps_are_not_searched_and_pieces_of_a_line_are_one() -> None:
    data = STAMP + b" begin of a wo\n" + STAMP + b"+rd\n" + STAMP + b" next\n"
    assert found("word", data=data) == [101]
    assert found("next", data=data) == [102]
    assert found("2026", data=data) == []
