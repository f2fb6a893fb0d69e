"""What a benchmark tells: rows of (name, measured, unit, bar, holds), as a table and as JSON."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rich.console import Console
from rich.table import Table


class Side(StrEnum):
    """On which side of its bar a figure has to be."""

    AT_LEAST = ">="
    AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. Without a `bar` it is there to be read, and holds whatever it is."""

    name: str
    measured: float
    unit: str
    bar: float | None = None
    side: Side = Side.AT_LEAST

    @property
    def holds(self) -> bool:
        """Whether the figure is on the right side of its bar; one that is not a number never is."""
        if self.bar is None:
            return not math.isnan(self.measured)
        return self.measured >= self.bar if self.side is Side.AT_LEAST else self.measured <= self.bar

    @property
    def bar_text(self) -> str:
        """The bar with its side, empty when there is none."""
        return "" if self.bar is None else f"{self.side} {self.bar:g}"

    def as_json(self) -> dict[str, Any]:
        """The row as `--json` prints it; `bar` is text such as `>= 0.3`, or null."""
        return {
            "name": self.name,
            "measured": round(self.measured, 3),
            "unit": self.unit,
            "bar": self.bar_text or None,
            "holds": self.holds,
        }


def all_hold(rows: Iterable[Row]) -> bool:
    """Whether every bar holds."""
    return all(row.holds for row in rows)


def print_table(rows: Sequence[Row], machine: str, console: Console) -> None:
    """Print the rows for people."""
    table = Table(title=machine, title_justify="left")
    for heading, side in (("figure", "left"), ("measured", "right"), ("unit", "left"), ("bar", "right"), ("", "left")):
        table.add_column(heading, justify="left" if side == "left" else "right")
    for row in rows:
        mark = "" if row.bar is None else "holds" if row.holds else "MISSED"
        table.add_row(row.name, f"{row.measured:,.2f}", row.unit, row.bar_text, mark)
    console.print(table)
