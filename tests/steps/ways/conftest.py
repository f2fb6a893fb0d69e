from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.steps.service.serving import Served, served


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    """A step runner of its own process."""
    async with served(tmp_path) as found:
        yield found
