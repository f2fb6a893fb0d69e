"""`models.schema` knows every table."""

from pathlib import Path

import models.schema
import models.tables

FOLDER = Path(*models.tables.__path__)


def test_every_module_with_a_table_is_imported() -> None:
    with_tables = {path.stem for path in FOLDER.glob("*.py") if "table=True" in path.read_text()}
    lines = Path(models.schema.__file__).read_text().splitlines()
    imported = {line.split()[1].removeprefix("models.tables.") for line in lines if line.startswith("import models.")}
    assert with_tables
    assert with_tables == imported
