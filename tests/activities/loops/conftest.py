"""A migrated database of each kind, and a world in it whose lease clock runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from models.migrate import migrate
from models.session import Database
from settings import Settings
from tests.activities.loops.sweeping import Sweeping
from tests.models.world import World


@pytest.fixture
async def sweeping(tmp_path: Path, database_url: str) -> AsyncIterator[Sweeping]:
    """A world, and a sweeper that sweeps when it is told to."""
    database = Database(Settings(home=tmp_path, database_url=database_url).database)
    try:
        await migrate(database)
        yield await Sweeping.make(await World.make(database))
    finally:
        await database.close()
