"""The tables of settings."""

from settings import Settings
from tests.docs.settings_table import GROUPS, PAGE, page, sections


def test_the_page_has_the_tables_of_now() -> None:
    assert PAGE.read_text() == page(PAGE.read_text()), "run `python -m tests.docs.settings_table`"


def test_every_setting_is_in_one_group_and_says_what_it_does() -> None:
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(Settings.model_fields)
    rows = [line for line in sections().splitlines() if line.startswith("| `PERDURE_")]
    assert [row for row in rows if row.endswith("|  |")] == []
    assert "| `PERDURE_FRONT_HOLD` | `590` | s | How long results" in "\n".join(rows)
    assert "| `PERDURE_ARTIFACT_BYTES` | `104857600` | bytes |" in "\n".join(rows)
