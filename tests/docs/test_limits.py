"""The table of `docs/limits.md`: nothing is without a limit of one caller, and the figures are those of the code."""

import re
from pathlib import Path

import pytest

from api.call_turns import CALLS
from git.reading.searching import SEARCHES
from git.turns import COMMANDS, FETCHES, PATIENCE, PUSHES, STREAMS, Places

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"


def table() -> dict[str, dict[str, str]]:
    """Its rows by their first column; each has its cells by the heads of the columns."""
    lines = [line.strip("| ").split("|") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line] for line in lines]
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


ROWS = table()


@pytest.mark.parametrize("what", ROWS)
def test_one_caller_has_a_limit_of_everything(what: str) -> None:
    cell = ROWS[what]["Of one caller"]
    assert cell
    assert "no limit" not in cell.lower()


@pytest.mark.parametrize(
    ("begin", "places"),
    [
        ("Git commands that are read", COMMANDS),
        ("Git whose output", STREAMS),
        ("Searches", SEARCHES),
        ("Pushes", PUSHES),
        ("Fetches", FETCHES),
        ("Calls of the REST API, and pages", CALLS),
        ("Bodies of such calls", CALLS),
        ("Connections to the database", CALLS),
    ],
)
def test_the_figures_of_one_caller_are_those_of_the_code(begin: str, places: Places) -> None:
    (row,) = [row for what, row in ROWS.items() if what.startswith(begin)]
    figure = re.match(r"\d+", row["Of one caller"])
    assert figure is not None
    assert figure[0] == str(places.of_caller)
    assert f"{PATIENCE:g} s" in row["Beyond it"] or row["Beyond it"] == "the same"
