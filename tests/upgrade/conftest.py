"""The database of the first version."""

from functools import partial
from pathlib import Path

import pytest

from models.session import Database
from settings import Settings
from tests.models.test_migrations import upgrade_to
from tests.upgrade import first_version


@pytest.fixture
async def old_database(tmp_path: Path) -> Path:
    """Its SQLite file, made by the first migration and filled with its rows."""
    folder = tmp_path / "old"
    folder.mkdir()
    database = Database(Settings(home=folder).database)
    async with database.write() as connection:
        await connection.run_sync(partial(upgrade_to, version=first_version.SCHEMA))
    await database.close()
    first_version.fill(folder / "perdure.db")
    return folder / "perdure.db"
