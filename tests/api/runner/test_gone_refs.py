"""Jobs whose branch or tag was deleted while their pipeline ran, against the real git command."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from models.repositories.pipelines.pipelines import pipeline
from tests.api.v4.site import Site, open_site, serving
from tests.git.serving import git, new_work_tree

TWO_JOBS = "one: {script: make}\ntwo: {script: make}\n"


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database does: this is about git."""
    return sqlite_url


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server, with an empty repository and a work tree with one commit."""
    async with open_site(tmp_path, database_url) as opened, serving(opened):
        await opened.services.repositories.create(opened.world.project_id, "main")
        await new_work_tree(tmp_path / "work", {".gitlab-ci.yml": TWO_JOBS})
        yield opened


async def push(site: Site, *refspecs: str) -> None:
    """Push as root."""
    host = site.services.settings.url.removeprefix("http://")
    address = f"http://root:{site.root.token}@{host}/{await site.path()}.git"
    await git("push", "-q", address, *refspecs, cwd=site.folder / "work")


async def offer_newest(site: Site) -> None:
    """Let runners have the jobs of the pipeline that was made last."""
    async with site.services.database.read() as connection:
        ids = (await connection.execute(select(pipeline.c.id).order_by(pipeline.c.id.desc()))).scalars()
    await site.world.settle(next(ids))


async def fetched(site: Site, job: dict[str, Any]) -> str:
    """The refs that a runner has after the fetch and the checkout that the payload asks for."""
    folder, info = site.folder / f"job-{job['id']}", job["git_info"]
    await git("init", "-q", folder, cwd=site.folder)
    depth = ["--depth", str(info["depth"])] if info["depth"] else []
    await git("fetch", "-q", info["repo_url"], *info["refspecs"], *depth, cwd=folder)
    await git("checkout", "-f", "-q", info["sha"], cwd=folder)
    assert (folder / ".gitlab-ci.yml").read_text() == TWO_JOBS
    return await git("for-each-ref", "--format=%(refname)", cwd=folder)


@pytest.mark.parametrize(
    ("ref", "moving"),
    [("refs/heads/fix/a", "refs/remotes/origin/fix/a"), ("refs/tags/v1", "refs/tags/v1")],
)
@pytest.mark.parametrize("packed", [False, True])
async def test_later_jobs_do_without_a_ref_that_was_deleted_meanwhile(
    site: Site, ref: str, moving: str, packed: bool
) -> None:
    await push(site, f"HEAD:{ref}")
    if packed:  # as in a repository that was packed by hand
        repository = site.services.repositories.path(site.world.project_id)
        await git("pack-refs", "--all", cwd=repository)
    await offer_newest(site)
    first = await site.world.job()
    kept = f"refs/pipelines/{first['job_info']['pipeline_id']}"
    assert (await fetched(site, first)).splitlines() == sorted([kept, moving])
    await push(site, f":{ref}")
    assert await fetched(site, await site.world.job()) == kept
