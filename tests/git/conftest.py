"""A repository store and a server over it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp.web import AppRunner, TCPSite

from git.repository import Repositories, Repository
from tests.git.serving import GitServer


@pytest.fixture
def repositories(tmp_path: Path) -> Repositories:
    """An empty folder of repositories."""
    return Repositories(tmp_path / "repositories")


@pytest_asyncio.fixture
async def repository(repositories: Repositories) -> Repository:
    """The empty repository of project 7."""
    return await repositories.create(7, "main")


@pytest_asyncio.fixture
async def server(repositories: Repositories, repository: Repository) -> AsyncIterator[GitServer]:
    """A server of `repositories` on a free port; `url` is project 7."""
    served = GitServer(repositories)
    # aiohttp would unpack gzip bodies itself; a server of ASGI applications does not.
    runner = AppRunner(served.application(), auto_decompress=False)
    await runner.setup()
    site = TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}/7.git"
    yield served
    await runner.cleanup()
