"""An empty directory on each kind of database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rigs.postgres import fresh_database
from tests.kinds_of_database import KINDS
from tests.pods.directory.served import Served, served


@pytest.fixture(params=KINDS)
async def directory_url(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """Address of an empty database; empty for the usual file."""
    if request.param == "sqlite":
        yield ""
        return
    async with fresh_database(str(request.getfixturevalue("postgres"))) as address:
        yield address


@pytest.fixture
async def directory(tmp_path: Path, directory_url: str) -> AsyncIterator[Served]:
    """One with pods 0 (`zero`) and 7 (`seven`)."""
    async with served(tmp_path, directory_url) as found:
        await found.add_pod(0, "zero")
        await found.add_pod(7, "seven")
        yield found
