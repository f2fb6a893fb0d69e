"""A migrated database of each kind, a world in it, and one whose lease clock runs."""

import pytest

from tests.loops.sweeping import Sweeping
from tests.models.conftest import database, world
from tests.models.world import World

__all__ = ["database", "sweeping", "world"]


@pytest.fixture
async def sweeping(world: World) -> Sweeping:
    """A world, and a sweeper that sweeps when it is told to."""
    return await Sweeping.make(world)
