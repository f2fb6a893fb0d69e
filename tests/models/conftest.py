"""A migrated database of each kind, and a world in it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from models.session import Database
from rigs.postgres import fresh_database
from settings import Settings
from tests.models.database import migrated
from tests.models.world import World


@pytest.fixture(params=["sqlite", "postgresql"])
async def empty_database(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """A database without any table."""
    async with AsyncExitStack() as stack:
        address = ""
        if request.param == "postgresql":
            address = await stack.enter_async_context(fresh_database(request.getfixturevalue("postgres")))
        database = Database(Settings(home=tmp_path, database_url=address).database)
        stack.push_async_callback(database.close)
        yield database


@pytest.fixture
async def database(tmp_path: Path, database_url: str) -> AsyncIterator[Database]:
    """An empty database with the newest schema."""
    async with migrated(Database(Settings(home=tmp_path, database_url=database_url).database)) as database:
        yield database


@pytest.fixture
async def world(database: Database) -> World:
    """A project, a runner and a way to play pipelines."""
    return await World.make(database)
