"""A migrated database of each kind, and a world in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from models.session import Database
from settings import Settings
from tests.models.database import migrated
from tests.models.world import World


@pytest.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A world in an empty database of each kind."""
    async with migrated(Database(Settings(home=tmp_path, database_url=database_url).database)) as database:
        yield await World.make(database)
