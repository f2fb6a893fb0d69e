"""A migrated database of each kind, and a world in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from models.migrate import migrate
from models.session import Database
from settings import Settings
from tests.models.world import World


@pytest.fixture
async def empty_database(tmp_path: Path, database_url: str) -> AsyncIterator[Database]:
    """A database without any table."""
    database = Database(Settings(home=tmp_path, database_url=database_url).database)
    try:
        yield database
    finally:
        await database.close()


@pytest.fixture
async def database(empty_database: Database) -> Database:
    """A database with the newest schema."""
    await migrate(empty_database)
    return empty_database


@pytest.fixture
async def world(database: Database) -> World:
    """A project, a runner and a way to play pipelines."""
    return await World.make(database)
