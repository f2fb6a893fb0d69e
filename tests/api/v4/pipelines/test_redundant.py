"""Pipelines that are written in another order than their commits came: that of the ref's head is never canceled."""

from application.pipelines.creation import create_pipeline
from application.pushes.pushed_pipelines import finish
from git.transport.push import RefUpdate
from models.repositories.pipelines import pushes
from models.repositories.pipelines.outbox import outbox
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from tests.api.v4.site import Site
from tests.git.serving import git, new_commit

CONFIG = {".gitlab-ci.yml": "one: {script: x}\n"}
NOTHING = "0" * 40


async def two_commits(site: Site) -> tuple[str, str]:
    """The first commit of `main`, and its head."""
    first = await site.commit(CONFIG)
    head = await new_commit(site.folder / "tree", {"file": "new"})
    await git("push", "-q", site.services.repositories.path(site.world.project_id), "main", cwd=site.folder / "tree")
    return first, head


async def create(site: Site, sha: str) -> int:
    """A pipeline of a commit of `main`, as the API makes it."""
    request = PipelineRequest(site.world.project_id, site.root.id, "main", sha, "api")
    return await create_pipeline(site.services, request, site.services.repositories.get(site.world.project_id))


async def push(site: Site, old: str, new: str) -> None:
    """What follows a push that moved `main`, when git has done its part."""
    services, update = site.services, {"old": old, "new": new, "ref": "refs/heads/main"}
    async with services.database.write() as connection:
        project = await projects.find(connection, site.world.project_id)
        assert project is not None
        noted = await pushes.note(connection, site.world.project_id, site.root.id, [update], [], services.clock())
    repository = services.repositories.get(site.world.project_id)
    await finish(services, project, repository, noted, [RefUpdate(old, new, "refs/heads/main")])


async def told(site: Site) -> list[int]:
    """The pipelines that were told of a newer commit."""
    async with site.services.database.read() as connection:
        rows = await connection.execute(outbox.select().where(outbox.c.kind == "command"))
        return [row.pipeline_id for row in rows.all()]


async def test_a_newer_commit_makes_the_older_pipeline_redundant(site: Site) -> None:
    first, head = await two_commits(site)
    older = await create(site, first)
    await create(site, head)
    assert await told(site) == [older]


async def test_a_pipeline_that_comes_late_leaves_that_of_the_head_alone(site: Site) -> None:
    first, head = await two_commits(site)
    await create(site, head)
    await create(site, first)
    assert await told(site) == []


async def test_a_push_that_is_finished_late_leaves_the_pipeline_of_the_head_alone(site: Site) -> None:
    """The process died between git and SQL; before the next one finished its push, a later push was done."""
    first, head = await two_commits(site)
    await push(site, first, head)
    await push(site, NOTHING, first)
    assert await told(site) == []


async def test_a_push_makes_the_pipeline_of_the_push_before_it_redundant(site: Site) -> None:
    first, head = await two_commits(site)
    await push(site, NOTHING, first)
    await push(site, first, head)
    assert len(await told(site)) == 1
