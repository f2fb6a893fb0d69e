"""Whoever compares commits keeps git busy for no longer than they wait, and for nobody else."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from api.leaving_callers import EndsWithCaller
from api.v4.router import routers
from git.turns import COMMANDS
from tests.api.v4.site import Person, Site, open_site, serving
from tests.waiting import HANGS, eventually

SCRIPT = """#!/bin/sh
case "$*" in *diff-tree*) echo $$ > {folder}/$$.pid; read x < {folder}/gate;; esac
exec {git} "$@"
"""


class SlowDiffs:
    """A git whose comparisons wait until the test is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        git = shutil.which("git")
        os.mkfifo(folder / "gate")
        (folder / "git").write_text(SCRIPT.format(folder=folder, git=git))
        (folder / "git").chmod(0o755)

    def running(self) -> int:
        """How many live."""
        return sum(Path("/proc", file.stem).exists() for file in self.folder.glob("*.pid"))

    async def until(self, count: int) -> None:
        """Wait until so many run."""

        async def look() -> bool:
            return self.running() == count

        await eventually(look, f"{count} comparisons run", 20.0)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A served installation."""
    async with open_site(tmp_path, "") as opened, serving(opened):
        yield opened


@pytest.fixture
def diffs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowDiffs:
    """From now on comparisons wait."""
    folder = tmp_path / "slow"
    folder.mkdir()
    made = SlowDiffs(folder)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return made


def http(site: Site, person: Person) -> httpx.AsyncClient:
    """A client over a real connection."""
    headers = {"PRIVATE-TOKEN": person.token}
    return httpx.AsyncClient(base_url=site.services.settings.url, headers=headers, timeout=30, trust_env=False)


async def test_a_comparison_ends_when_nobody_waits_for_it_and_others_go_on(site: Site, diffs: SlowDiffs) -> None:
    await site.commit({"a": "a"})
    eve = await site.person("eve", 30)
    project = f"/api/v4/projects/{site.world.project_id}"
    async with http(site, eve) as client:
        asking = [asyncio.create_task(client.get(f"{project}/repository/commits/main/diff?n={n}")) for n in range(12)]
        await diffs.until(COMMANDS.of_caller)
        async with asyncio.timeout(HANGS), http(site, site.root) as other:
            assert (await other.get(f"{project}/repository/branches")).status_code == 200
            assert await site.services.passwords.is_right("", "guess") is False
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    await diffs.until(0)


def test_every_read_of_a_repository_ends_with_its_caller() -> None:
    reads = [route for router in routers() for route in router if "GET" in route.methods]
    found = [route for route in reads if "/repository/" in route.path or route.path.endswith(("/diffs", "/changes"))]
    assert len(found) > 20
    # What is said of a commit is in the database; no git is asked.
    of_git = [one for one in found if not one.path.endswith(("/comments", "/statuses"))]
    assert [one.path for one in of_git if not issubclass(one.kind, EndsWithCaller)] == []
