"""A fresh installation of each kind, and one with everything that runs in production."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rigs.postgres import fresh_database
from tests.application.bridges.installation import Installation, open_installation
from tests.application.bridges.running import Running, running
from tests.application.bridges.two_pods import TwoPods, two_pods
from tests.temporal import temporal_server
from tests.workflows.pod import SHORT


@pytest.fixture
async def here(tmp_path: Path, database_url: str) -> AsyncIterator[Installation]:
    """An installation with one empty project."""
    async with open_installation(tmp_path, database_url) as opened:
        yield opened


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])  # two databases for each test
async def two(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[TwoPods]:
    """Two pods with databases of this kind."""
    async with AsyncExitStack() as exits:
        urls = ["", ""]
        if request.param == "postgresql":
            server = str(request.getfixturevalue("postgres"))
            urls = [await exits.enter_async_context(fresh_database(server)) for _ in urls]
        yield await exits.enter_async_context(two_pods(tmp_path, (urls[0], urls[1])))


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
