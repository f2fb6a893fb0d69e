"""A fresh installation for each test, on each kind of database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.application.schedules.planned import Planned, planned


@pytest.fixture
async def here(tmp_path: Path, database_url: str) -> AsyncIterator[Planned]:
    """An installation whose time the test moves."""
    async with planned(tmp_path, database_url) as opened:
        yield opened
