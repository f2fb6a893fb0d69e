"""A fresh installation for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.v4.site import Site, open_site


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation with one project."""
    async with open_site(tmp_path, database_url) as opened:
        yield opened
