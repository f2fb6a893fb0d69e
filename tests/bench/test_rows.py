"""Rows, their bars and their JSON."""

import io
import math

import pytest
from rich.console import Console

from bench.rows import Row, Side, all_hold, print_table


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        (Row("speed", 0.31, "ratio", 0.3), True),
        (Row("speed", 0.3, "ratio", 0.3), True),
        (Row("speed", 0.29, "ratio", 0.3), False),
        (Row("time", 4.9, "ratio", 5.0, Side.AT_MOST), True),
        (Row("time", 5.1, "ratio", 5.0, Side.AT_MOST), False),
        (Row("to be read", 1.0, "ms"), True),
        (Row("speed", math.nan, "ratio", 0.3), False),
        (Row("to be read", math.nan, "ms"), False),
    ],
)
def test_a_bar_has_a_side(row: Row, holds: bool) -> None:
    assert row.holds is holds
    assert all_hold([Row("other", 1.0, "ms"), row]) is holds


def test_json_has_the_five_fields() -> None:
    assert Row("speed", 0.123456, "ratio", 0.3).as_json() == {
        "name": "speed",
        "measured": 0.123,
        "unit": "ratio",
        "bar": ">= 0.3",
        "holds": False,
    }
    assert Row("cost", 2.0, "ms").as_json()["bar"] is None


def test_the_table_names_what_missed_its_bar() -> None:
    out = io.StringIO()
    rows = [Row("speed", 0.1, "ratio", 0.3), Row("time", 2.0, "ratio", 5.0, Side.AT_MOST), Row("cost", 7.0, "ms")]
    print_table(rows, "2 cores", Console(file=out, width=100))
    lines = {line.split()[1]: line for line in out.getvalue().splitlines() if line.startswith("│")}
    assert "MISSED" in lines["speed"]
    assert ">= 0.3" in lines["speed"]
    assert "holds" in lines["time"]
    assert "holds" not in lines["cost"]
