"""A fresh world for each test, on each database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from settings import Settings, SizeLimits, TimeLimits
from tests.api.runner.world import World, opened_world
from tests.waiting import HANGS


@pytest.fixture
async def world(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """A world on SQLite or PostgreSQL."""
    settings = Settings(
        home=tmp_path,
        database_url=database_url,
        times=TimeLimits(long_poll=1.5 * HANGS, queue_rescan=2 * HANGS),
        sizes=SizeLimits(artifact_bytes=100_000, trace_bytes=50_000, trace_patch_bytes=20_000),
    )
    async with opened_world(settings) as world:
        yield world
