"""A world whose lease clock runs."""

import pytest

from tests.activities.loops.sweeping import Sweeping
from tests.models.world import World


@pytest.fixture
async def sweeping(world: World) -> Sweeping:
    """A world, and a sweeper that sweeps when it is told to."""
    return await Sweeping.make(world)
