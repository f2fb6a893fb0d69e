"""Logs that once cost the square of their length."""

from collections.abc import Callable

import pytest

from api.pages.jobs.log_lines import lines_in
from api.pages.jobs.log_search import finder, hits_in
from domain.logs.index import BEGIN, extended
from domain.logs.styles import PLAIN
from tests.growth import assert_linear

PIECES = {
    "sections that do not begin": b"section_start:1:",
    "sections that do not begin, before one that does": b"section_start:1:a",
    "numbers without end": b"section_start:11111111",
    "empty codes": b";",
    "sequences": b"\x1b[31m",
    "half sequences": b"\x1b[;;;",
    "strings without end": b"\x1b]",
    "returns": b"\r",
    "stamps": b"\n2026-01-01T00:00:00.000000Z 00O+",
    "lines": b"\n",
    "words of errors": b"rror ",
    "errors": b"error: no\n",
    "sections": b"section_start:1:a\rx\nsection_end:1:a\r\n",
    "links": b"\x1b]8;;https://x.y/",
    "addresses": b"https://x.y/",
}
ENDS = {b"section_start:1:a": b"\r", b";": b"m"}


WAYS: dict[str, Callable[[bytes], object]] = {
    "drawn": lambda data: list(lines_in(data, PLAIN)),
    "indexed": lambda data: extended(BEGIN.after, data, is_last=True),
    "searched": lambda data: hits_in(data, 1, finder("3", is_pattern=False, is_exact=False), 1_000_000),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
def test_a_log_costs_what_its_length_does(piece: bytes, way: Callable[[bytes], object]) -> None:
    def made(size: int) -> Callable[[], object]:
        data = (b"\x1b[" if piece == b";" else b"") + piece * size + ENDS.get(piece, b"")
        return lambda: way(data)

    assert_linear(made, 2000)
