"""The table "To change something, open" in `docs/architecture.md` names files and folders that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_what_the_table_names_is_there() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    table = text.partition("## To change something, open")[2].partition("\n## ")[0]
    named = [name for name in re.findall(r"`([^`\s]+)`", table) if "/" in name or name.endswith(".py")]
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []
