"""Whatever reads logs reads one with the stamps of GitLab Runner 18.7 and newer as it reads the same without them."""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.pages.jobs.log_lines import lines_in
from api.pages.jobs.log_search import finder, hits_in
from cli.remote.log_text import LogText
from domain.logs.failure import failure_in
from domain.logs.index import BEGIN, Part, extended, lines_of
from domain.logs.sections import sections_of
from domain.logs.styles import PLAIN
from domain.pipelines.coverage import CoverageSearch
from domain.pipelines.job_phases import script_times
from domain.pipelines.script_begin import BeginSearch
from tests.stamping import BUFFER, Stamper, stamped

PATTERNS = (r"/^\s*Lines:\s*\d+.\d+\%/", r"/^TOTAL.*\s+(\d+\%)$/", r"/^\d+.\d+% coverage/", r"/\d+.*%/", r"/\d+\.\d+/")
"""Those of `tests/cases/samples/turn4/coverage-of-stamped-logs.yml`."""
WRITES = [
    b"a", b"some words ", b"\n", b"\n", b"\r\n", b"one\ntwo\n\nthr", b"x" * 30, b"\x1b[31m", b"\x1b[0m",
    b"section_start:1700000000:step_script[hide=true]\r\x1b[0K", b"\x1b[36;1mGo\x1b[0m\n",
    b"section_end:1700000009:step_script\r\x1b[0K", b"section_start:1:one\r\x1b[0KHead\n",
    b"\x1b[0Ksection_end:5:one\r\x1b[0K\n",
    b"ERROR: Job failed: exit code 1\n", b"x.c:1: error: no\n", b"Error: no\n",
    b"TOTAL 8 1 87%\n", b"  Lines:   87.50% (7/8)\n", b"87.50% coverage, 7/8 lines covered\n",
    b"cov 87", b"%\n", b"100%\n",
    b"2026-01-02T03:04:05.123456Z 01",
    b"x" * 5000, "\U0001f6a2".encode() * 1500,
]  # fmt: skip
RETURNS = [b"10%\r", b"20%\r30", b"\r", b"\r40%"]
LOGS = st.lists(st.sampled_from(WRITES + RETURNS), max_size=30)
LINE_SIZES = st.sampled_from([40, 70, BUFFER])


def index_of(log: bytes) -> Part:
    return BEGIN.followed_by(extended(BEGIN.after, log, is_last=True))


def index_says(log: bytes) -> object:
    index = index_of(log)
    total = lines_of(index.after, len(log))
    return total, index.marks, index.errors, index.after.verdict, failure_in(index, sections_of(index.marks), total)


def script_begin(log: bytes) -> object:
    search = BeginSearch()
    for place in range(0, len(log), 50):
        search.look(log[place : place + 50])
    return search.found


def printed(log: bytes) -> str:
    text, decoder = LogText(terminal=True, colour=True), getincrementaldecoder("utf-8")()
    cuts = sorted({*range(0, len(log), 17), *(found.end() for found in re.finditer(b"\n", log)), len(log)})
    pieces = [decoder.decode(log[begin:end]) for begin, end in pairwise(cuts)]
    return "".join(map(text.feed, pieces)) + text.end()


READERS: dict[str, Callable[[bytes], object]] = {
    "the index of a log": index_says,
    "lines on a page": lambda log: [(line.html, line.is_heading, line.is_error) for line in lines_in(log, PLAIN)],
    "search": lambda log: [
        hits_in(log, 1, finder(query, is_pattern=is_pattern, is_exact=True), 100)
        for query, is_pattern in (("words", False), ("^TOTAL", True), ("^$", True), ("2", False))
    ],
    "when the script began": script_begin,
    "when the script began and ended": lambda log: script_times(log, log),
    "what the command line prints": printed,
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_a_reader_sees_no_stamps(reader: Callable[[bytes], object]) -> None:
    # Who follows a log on a terminal waits for the rest of a line only where a real runner may have cut it.
    sizes = st.just(BUFFER) if reader is printed else LINE_SIZES

    @settings(max_examples=150)
    @given(LOGS, sizes)
    def check(writes: list[bytes], longest: int) -> None:
        log = stamped(*writes, longest=longest)
        plain = b"".join(writes)
        plain += b"\n" if plain and not plain.endswith(b"\n") else b""
        assert reader(log) == reader(plain)

    check()


@given(
    st.lists(st.sampled_from(WRITES), max_size=30).filter(lambda log: b"\r" not in b"".join(log)),
    LINE_SIZES,
    st.integers(1, 90),
)
def test_the_coverage_is_that_of_the_log_without_stamps(writes: list[bytes], longest: int, length: int) -> None:
    log = stamped(*writes, longest=longest)
    for pattern in PATTERNS:
        assert coverage(pattern, log, length) == coverage(pattern, b"".join(writes))


def coverage(pattern: str, log: bytes, length: int = 1 << 20) -> float | None:
    """As the archiver looks for it: part by part, from the end."""
    search, found = CoverageSearch(pattern), None
    for end in range(len(log), 0, -length):
        found = search.look(log[max(0, end - length) : end], is_first=end <= length)
        if found is not None:
            break
    return found


@pytest.mark.parametrize("kind", ["O", "E"])
@pytest.mark.parametrize(
    ("said", "pattern", "found"),
    [
        *zip(
            ["  Lines:   87.50% (7/8)", "TOTAL 8 1 87%", "87.50% coverage, 7/8 lines covered", "cov 87%", "87.5"],
            PATTERNS,
            [87.5, 87.0, 87.5, 87.0, 87.5],
            strict=True,
        )
    ],
)
def test_five_patterns_find_no_part_of_a_date(said: str, pattern: str, found: float, kind: str) -> None:
    script, runner = Stamper(1, kind), Stamper(0)
    log = runner.write(b"Running\n") + script.write(f"{said}\n".encode()) + runner.write(b"Job succeeded\n")
    assert coverage(pattern, log) == found


def test_streams_that_print_between_each_other_are_not_put_together() -> None:
    out, err = Stamper(1, "O"), Stamper(1, "E")
    log = err.write(b"10%\r") + out.write(b"TOTAL 8 1 87%\n") + err.write(b"20%\r") + out.write(b"bye\n")
    assert coverage(PATTERNS[1], log) == 87
    script = Stamper()
    assert coverage(PATTERNS[1], script.write(b"99%\r") + script.write(b"TOTAL 8 1 87%\n")) == 87


def test_a_line_that_ends_is_printed_though_nothing_follows() -> None:
    text = LogText(terminal=False, colour=False)
    assert text.feed(stamped(b"the server is up\n").decode()) == "the server is up\n"
