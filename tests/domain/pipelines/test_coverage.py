"""What a log says of the coverage, as GitLab reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.pipelines.coverage import CoverageSearch, average

LOG = b"""\x1b[0KRunning with gitlab-runner 18.0.0
TOTAL                 120     6    95%\r
Statements   : 80.26% ( 1234/1537 )
Code coverage: 67.89% of lines, 45.1% of branches
Tests took 12 s
"""


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (r"/TOTAL.+?(\d+)%$/", 95.0),
        (r"/TOTAL.+ (\d+\%)$/", 95.0),
        (r"/TOTAL.*/", 120.0),
        (r"/^Statements\s*:\s*([^%]+)/", 80.26),
        (r"/Code coverage: \d+\.\d+/", 67.89),
        (r"/\d+\.\d+%/", 45.1),
        (r"/(?:Statements|coverage).*?(\d+(\.\d+)?)%/", 89.0),
        (r"/statements.*?(\d+)/i", 80.0),
        (r"/of (lines|branches)/", None),
        (r"/nothing (\d+)/", None),
    ],
)
def test_what_a_pattern_finds(pattern: str, found: float | None) -> None:
    assert CoverageSearch(pattern).look(LOG, is_first=True) == found


def test_the_last_line_that_matches_counts_and_in_it_the_last_match() -> None:
    search = CoverageSearch(r"/cov (\d+)/")
    assert search.look(b"cov 1\ncov 2 cov 3\nnothing\n", is_first=True) == 3


def test_a_line_without_a_number_is_passed_over() -> None:
    assert CoverageSearch("/cov.*/").look(b"cov 7\ncov unknown\n", is_first=True) == 7


@given(st.lists(st.sampled_from([b"cov 12.5%", b"x", b"", b"cov none", b"cov 3\r"]), max_size=12), st.integers(1, 9))
def test_parts_of_any_length_are_read_as_one(lines: list[bytes], length: int) -> None:
    log, search, found = b"\n".join(lines), CoverageSearch(r"/cov (\S+)/"), None
    for end in range(len(log), 0, -length):
        start = max(0, end - length)
        found = search.look(log[start:end], is_first=not start)
        if found is not None:
            break
    assert found == CoverageSearch(r"/cov (\S+)/").look(log, is_first=True)


def test_a_pattern_with_endless_work_is_given_up() -> None:
    search = CoverageSearch("/(a*b)|c?/")
    part = b"\n".join([b"a" * 8_000] * 125)
    parts = 0
    while not search.gave_up:
        assert search.look(part, is_first=False) is None
        parts += 1
    assert parts < 10


def test_numbers_that_no_number_holds_are_none() -> None:
    assert CoverageSearch(r"/cov (\d+)/").look(b"cov 5\ncov " + b"9" * 400, is_first=True) == 5


def test_what_is_no_pattern() -> None:
    with pytest.raises(Invalid, match="re2 syntax"):
        CoverageSearch("cov")


@pytest.mark.parametrize(("values", "text"), [((), None), ((80.0,), "80.00"), ((33.0, 66.5, 100.0), "66.50")])
def test_a_pipeline_has_the_average(values: tuple[float, ...], text: str | None) -> None:
    assert average(values) == text
