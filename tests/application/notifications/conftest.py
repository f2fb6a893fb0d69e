"""A desk for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.application.notifications.desk import Desk, open_desk


@pytest.fixture
async def desk(tmp_path: Path, database_url: str) -> AsyncIterator[Desk]:
    """An installation that sends e-mails."""
    async with open_desk(tmp_path, database_url) as opened:
        yield opened
