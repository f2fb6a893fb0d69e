"""`[ci skip]` at every door: pipelines that come by themselves heed it, those that somebody asks for do not."""

from collections.abc import Awaitable, Callable

import pytest

from domain.pipelines.skipping import HEEDING, is_skipped
from models.repositories.pipelines import pipelines
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site, serving
from tests.git.serving import git, new_commit

CONFIG = {".gitlab-ci.yml": "build: {script: make}\n"}
MARKED = "Change\n\n[ci skip]"


async def by_push(site: Site) -> None:
    tree = site.folder / "tree"
    async with serving(site) as url:
        address = f"{url.replace('://', f'://root:{site.root.token}@')}/{await site.path()}.git"
        await git("push", "-q", address, "main:pushed", cwd=tree)


async def by_api(site: Site) -> None:
    async with site.client(site.root) as client:
        path = f"/api/v4/projects/{site.world.project_id}/pipeline"
        assert (await client.post(path, json={"ref": "main"})).status_code == 201


async def by_form(site: Site) -> None:
    async with browser(site, site.root, Origin=site.services.settings.url) as client:
        response = await client.post(f"/{await site.path()}/-/pipelines", data={"ref": "main"})
        assert response.status_code == 303


async def by_trigger(site: Site) -> None:
    path = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(site.root) as client:
        token = (await client.post(f"{path}/triggers", json={"description": "x"})).json()["token"]
        call = {"token": token, "ref": "main"}
        assert (await client.post(f"{path}/trigger/pipeline", json=call)).status_code == 201


DOORS = [
    (by_push, "push", "skipped"),
    (by_api, "api", "created"),
    (by_form, "web", "created"),
    (by_trigger, "trigger", "created"),
]


@pytest.mark.parametrize(("door", "source", "status"), DOORS, ids=[source for _, source, _ in DOORS])
async def test_a_door_heeds_the_marker_or_not(
    site: Site, door: Callable[[Site], Awaitable[None]], source: str, status: str
) -> None:
    await site.commit(CONFIG)
    tree = site.folder / "tree"
    await new_commit(tree, {"more": "x"}, MARKED)
    await git("push", "-q", site.services.repositories.path(site.world.project_id), "main", cwd=tree)
    await door(site)
    async with site.services.database.read() as connection:
        rows = (await connection.execute(pipelines.of_project(site.world.project_id, {}))).all()
    assert [(row.source, row.status) for row in rows] == [(source, status)]
    assert (status == "skipped") == (source in HEEDING)


def test_every_source_has_its_answer() -> None:
    heeding = {"push", "merge_request_event", "external_pull_request_event"}
    deaf = {"api", "web", "trigger", "schedule", "pipeline", "parent_pipeline", "chat"}
    assert {source for source in heeding | deaf if is_skipped(source, MARKED)} == heeding
    assert not any(is_skipped(source, "Change") for source in heeding | deaf)
