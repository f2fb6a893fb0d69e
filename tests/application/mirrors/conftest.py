"""An installation behind a real web server, with a project to mirror and one that mirrors it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from loops.mirrors import MirrorLoop
from models.repositories.pipelines import pipelines
from tests.api.v4.site import Site, open_site, serving
from tests.git.serving import git, new_work_tree

CONFIG = "build: {script: make}\n"


@dataclass
class Mirrored:
    """The project of `site` mirrors the repository in `origin`, whose work tree is `tree`."""

    site: Site
    url: str
    origin: Path
    tree: Path

    def loop(self, *, later: float = 0) -> MirrorLoop:
        """The loop of a process whose clock goes before by so many seconds; any address is permitted."""
        clock = self.site.services.clock
        services = replace(self.site.services, clock=lambda: clock() + timedelta(seconds=later))
        return MirrorLoop(services, lambda _address: True)

    async def push(self, *words: str) -> None:
        """Push to the origin."""
        await git("push", "-q", self.origin, *words, cwd=self.tree)

    async def call(self, method: str, person: Any = None, **values: Any) -> httpx.Response:
        """The REST API."""
        path = f"/api/v4/projects/{self.site.world.project_id}/mirror/pull"
        async with self.site.client(person or self.site.root) as client:
            return await client.request(method, path, json=values)

    async def set_up(self, **values: Any) -> httpx.Response:
        """Set the mirror up."""
        given = {"url": self.url, "auth_user": "root", "auth_password": self.site.root.token, **values}
        response = await self.call("PUT", **given)
        assert response.status_code == 200, response.text
        return response

    async def refs(self) -> dict[str, str]:
        """Branches and tags of the mirror."""
        repository = self.site.services.repositories.get(self.site.world.project_id)
        return {ref.name: ref.object for ref in await repository.refs() if ref.name.startswith(("refs/h", "refs/t"))}

    async def pipelines(self) -> list[Any]:
        """Those of the mirror, the oldest first."""
        async with self.site.services.database.read() as connection:
            rows = (await connection.execute(pipelines.of_project(self.site.world.project_id, {}))).all()
        return list(reversed(rows))


@pytest.fixture
async def mirrored(tmp_path: Path, database_url: str) -> AsyncIterator[Mirrored]:
    """Nothing is set up yet; the origin has one commit."""
    async with open_site(tmp_path, database_url) as site, serving(site) as url:
        async with site.client(site.root) as client:
            made = (await client.post("/api/v4/projects", json={"name": "origin"})).json()
        tree = tmp_path / "origin"
        await new_work_tree(tree, {".gitlab-ci.yml": CONFIG})
        opened = Mirrored(site, f"{url}/root/origin.git", site.services.repositories.path(made["id"]), tree)
        await opened.push("main")
        yield opened
