"""Two installations that really run: a furnished project on the one, a person who is logged in to the other."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.v4.site import Site, open_site, serving
from tests.cli.importing.furnished import furnish
from tests.cli.remote.shell import Shell


@pytest.fixture
async def target(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """The installation that projects come to."""
    async with open_site(tmp_path / "target", sqlite_url) as opened, serving(opened):
        yield opened


@pytest.fixture
async def source(tmp_path: Path, migrated_file: Path) -> AsyncIterator[Site]:
    """The installation that projects come from, with its project furnished."""
    file = tmp_path / "source.db"
    shutil.copy(migrated_file, file)
    async with open_site(tmp_path / "source", f"sqlite:///{file}") as opened, serving(opened):
        await furnish(opened)
        yield opened


@pytest.fixture
async def mover(target: Site, tmp_path: Path) -> Shell:
    """The administrator of the target, at a shell."""
    folder = tmp_path / "mover"
    folder.mkdir()
    shell = Shell(folder)
    done = await shell("login", target.services.settings.url, "--stdin", stdin=target.root.token)
    assert done.code == 0, done.err
    return shell
