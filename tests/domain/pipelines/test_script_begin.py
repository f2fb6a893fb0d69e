"""When a script began is found however its log is cut."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.logs.index import BEGIN, extended
from domain.pipelines.job_phases import script_times
from domain.pipelines.script_begin import BeginSearch, begin_in
from tests.stamping import Stamper

MARK = b"section_start:1700000000:step_script[hide=true]\r\x1b[0KGo\n"
AT = datetime.fromtimestamp(1_700_000_000, UTC)


def searched(*parts: bytes) -> datetime | None:
    search = BeginSearch()
    for part in parts:
        search.look(part)
    return search.found


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (b"", None),
        (MARK, AT),
        (b"2026-01-02T03:04:05.123456Z 00O " + MARK + MARK.replace(b"17", b"16"), AT),
        (b"section_start:1:other\r" + MARK, AT),
        (b"section_end:5:step_script\r" + MARK, AT),
        (b"a:step_script:step_script\r" + MARK, AT),
        (b"section_start:1:step_script_x\r" + MARK, AT),
        (b"section_start:999999999999:step_script\r" + MARK, None),
    ],
)
def test_the_first_mark_of_the_script_counts(log: bytes, found: datetime | None) -> None:
    assert searched(log) == found
    assert begin_in(extended(BEGIN.after, log, is_last=True).marks) == found, "an index says the same"


@given(st.lists(st.integers(0, 400), max_size=12))
def test_it_is_found_however_the_log_is_cut(cuts: list[int]) -> None:
    log = b"x" * 150 + b"section_start:12:step_scripts\r" + MARK + b":step_script\r" * 10
    places = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    parts = [log[begin:end] for begin, end in pairwise(places)]
    assert searched(*parts) == AT


@given(st.integers(1, len(MARK) - 8), st.lists(st.integers(0, 200), max_size=6))
def test_it_is_found_where_a_runner_that_stamps_cuts_it(place: int, cuts: list[int]) -> None:
    stamper = Stamper(0)
    log = stamper.write(b"Go\n" + MARK[:place]) + stamper.cut() + stamper.write(MARK[place:])
    places = [0, *sorted(min(cut, len(log)) for cut in cuts), len(log)]
    assert searched(*(log[begin:end] for begin, end in pairwise(places))) == AT
    assert script_times(log).begin == AT
    assert begin_in(extended(BEGIN.after, log, is_last=True).marks) == AT
