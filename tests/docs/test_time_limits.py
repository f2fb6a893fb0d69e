"""The table of time limits in `docs/architecture.md`."""

import re
from pathlib import Path

from settings import TimeLimits

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_every_time_limit_is_there_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([0-9.]+) \| \S", PAGE.read_text(), re.MULTILINE))
    limits = {name: field.default for name, field in TimeLimits.model_fields.items()}
    assert {name: float(rows.get(name, "nan")) for name in limits} == limits
