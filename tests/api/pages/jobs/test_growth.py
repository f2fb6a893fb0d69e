"""Logs that once cost the square of their length."""

from collections.abc import Callable

import pytest

from api.pages.jobs.log_lines import State, render_piece
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
}
ENDS = {b"section_start:1:a": b"\r", b";": b"m"}


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
def test_a_log_costs_what_its_length_does(piece: bytes) -> None:
    def made(size: int) -> Callable[[], object]:
        data = (b"\x1b[" if piece == b";" else b"") + piece * size + ENDS.get(piece, b"")
        return lambda: render_piece(data, State(), whole=True)

    assert_linear(made, 2000)
