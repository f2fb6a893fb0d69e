"""A migrated database of each kind, a world in it, and one whose lease clock runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from models.session import Database
from settings import Settings
from tests.loops.sweeping import Sweeping
from tests.models.database import migrated
from tests.models.world import World


@pytest.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A world in an empty database of each kind."""
    async with migrated(Database(Settings(home=tmp_path, database_url=database_url).database)) as database:
        yield await World.make(database)


@pytest.fixture
async def sweeping(world: World) -> Sweeping:
    """A world, and a sweeper that sweeps when it is told to."""
    return await Sweeping.make(world)
