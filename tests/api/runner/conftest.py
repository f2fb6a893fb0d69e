"""A fresh world for each test, on each database."""

from collections.abc import AsyncIterator

import httpx
import pytest

from api.app import create_app
from api.startup import close_services, open_services
from models.clock import system_clock
from settings import Settings, SizeLimits, TimeLimits
from tests.api.runner.world import World, make_world


@pytest.fixture
async def world(tmp_path, database_url: str) -> AsyncIterator[World]:
    """A world on SQLite or PostgreSQL."""
    settings = Settings(
        home=tmp_path,
        database_url=database_url,
        times=TimeLimits(long_poll=20, queue_rescan=10),
        sizes=SizeLimits(artifact_bytes=100_000, trace_bytes=50_000, trace_patch_bytes=20_000),
    )
    services = await open_services(settings, system_clock)
    transport = httpx.ASGITransport(create_app(services))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
            yield await make_world(services, client)
    finally:
        await close_services(services)
