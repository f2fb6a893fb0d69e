"""A person at a shell, logged in to a server that really runs."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.api.v4.site import Site, open_site, serving
from tests.cli.remote.shell import Shell, Terminal


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation with one project, behind HTTP."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        yield opened


@pytest.fixture
def nobody(tmp_path: Path) -> Shell:
    """Somebody who is not logged in anywhere."""
    folder = tmp_path / "folder"
    folder.mkdir()
    return Shell(folder)


@pytest.fixture
async def shell(site: Site, nobody: Shell) -> Shell:
    """The administrator, logged in; the site's project is the one that counts."""
    done = await nobody("login", site.services.settings.url, "--stdin", stdin=site.root.token)
    assert done.code == 0, done.err
    nobody.env["PERDURE_PROJECT"] = await site.path()
    return nobody


@contextmanager
def closing(terminal: Terminal) -> Iterator[Terminal]:
    """A terminal that is closed at the end."""
    try:
        yield terminal
    finally:
        terminal.close()
