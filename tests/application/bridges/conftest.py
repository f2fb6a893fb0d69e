"""A fresh installation of each kind, and one with everything that runs in production."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.application.bridges.installation import Installation, open_installation
from tests.application.bridges.running import Running, running
from tests.temporal import temporal_server
from tests.workflows.pod import SHORT


@pytest.fixture
async def here(tmp_path: Path, database_url: str) -> AsyncIterator[Installation]:
    """An installation with one empty project."""
    async with open_installation(tmp_path, database_url) as opened:
        yield opened


@pytest.fixture(scope="session")
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Address of a Temporal server."""
    async with temporal_server(tmp_path_factory.mktemp("temporal")) as address:
        yield address


@pytest.fixture
async def live(tmp_path: Path, temporal: str) -> AsyncIterator[Running]:
    """An installation whose workflows, relay and bridge loop run."""
    async with (
        open_installation(tmp_path) as opened,
        running(opened, temporal, times=SHORT, workflow_sandbox=True) as together,
    ):
        yield together
        await together.pod.invariants_hold()
