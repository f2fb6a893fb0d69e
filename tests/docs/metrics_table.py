"""Writes the table of metrics into `docs/metrics.md`: `python -m tests.docs.metrics_table`."""

from pathlib import Path
from typing import Final

from metrics import names
from metrics.definition import Definition

PAGE: Final = Path(__file__).parents[2] / "docs" / "metrics.md"
BEGIN: Final = "<!-- metrics: made by `python -m tests.docs.metrics_table` -->\n"
END: Final = "<!-- end of metrics -->\n"


def table() -> str:
    """Every metric: its name with its labels, its type, who tells it, what it says."""
    lines = ["| metric | type | told by | what it says |", "|---|---|---|---|"]
    return "\n".join([*lines, *map(_line, names.ALL)]) + "\n"


def _line(one: Definition) -> str:
    labels = f"{{{', '.join(one.labels)}}}" if one.labels else ""
    return f"| `{one.name}{labels}` | {one.kind} | {one.by} | {one.text} |"


def page() -> str:
    """The page with the table of now; raises ValueError if it has no place for one."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE} has no place for the table.")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page())
