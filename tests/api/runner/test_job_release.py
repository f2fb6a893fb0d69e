"""`release`: made by the server when the runner reports the job's success."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import update

from application.pipelines.sealed_values import seal_of
from application.pushes import push, tagging
from application.pushes.push import finish_abandoned
from application.releases import job_release
from domain.errors import Unavailable
from models.repositories.artifacts import releases
from models.repositories.logs import traces
from models.repositories.pipelines import outbox, pipelines, verdicts
from models.repositories.pipelines.cancellation import cancel_jobs
from models.repositories.pipelines.job_rows import job as job_table
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.pipelines.pipelines import pipeline as pipeline_table
from models.repositories.pipelines.pushes import push as push_table
from tests.api.runner.test_dotenv import reported
from tests.api.v4.site import Site, open_site
from tests.compiling import plan_of
from tests.git.serving import git

CONFIG = """
on tag: {script: publish, rules: [{if: $CI_COMMIT_TAG}]}
on branch: {script: x, rules: [{if: $CI_COMMIT_BRANCH}]}
"""
RELEASING = """
release job:
  script: make
  variables: {VERSION: 1.2.0, RAW: {value: "US$5", expand: false}}
  release:
    tag_name: v$VERSION
    tag_message: Version $VERSION
    name: Release $VERSION
    description: $DESCRIBED
    milestones: [m1, "$VERSION"]
    released_at: "2030-01-02T03:04:05Z"
    assets: {links: [{name: binary $VERSION, url: "https://example.com/$VERSION/app", filepath: /app}]}
"""
SIMPLE = "release job: {script: make, release: {tag_name: v1, description: words}}\n"


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation whose project has a commit with notes and a configuration for tags."""
    async with open_site(tmp_path, database_url) as opened:
        await opened.commit({".gitlab-ci.yml": CONFIG, "docs/notes.md": "# Notes\nä\n"})
        yield opened


async def begin(site: Site, config: str = SIMPLE, **request: Any) -> int:
    """A pipeline at the head of main, its job pending; a configuration for the test, whatever the commit says."""
    repository = site.services.repositories.get(site.world.project_id)
    sha = await repository.resolve("main") or ""
    known = {"project_id": site.world.project_id, "user_id": site.world.user_id, "ref": "main", "sha": sha}
    wish = PipelineRequest(**{**known, "source": "push", **request})
    async with site.services.database.write() as connection:
        pipeline_id = await pipelines.create(
            connection, wish, plan_of(config), site.services.clock(), seal=seal_of(site.services.sealer)
        )
    await site.world.settle(pipeline_id)
    return pipeline_id


async def found(site: Site, tag: str = "v1") -> Any:
    async with site.services.database.read() as connection:
        return await releases.find(connection, site.world.project_id, tag)


async def tags(site: Site) -> dict[str, str]:
    return {tag.short_name: tag.sha for tag in await site.services.repositories.get(site.world.project_id).tags()}


async def tag_pipelines(site: Site) -> list[tuple[str, str, list[str]]]:
    """Ref, source and jobs of every pipeline of a tag."""
    async with site.services.database.read() as connection:
        rows = (await connection.execute(pipeline_table.select().where(pipeline_table.c.tag))).all()
        jobs = (await connection.execute(job_table.select())).all()
    return [(row.ref, row.source, [job.name for job in jobs if job.pipeline_id == row.id]) for row in rows]


async def log_of(site: Site, job_id: int) -> str:
    async with site.services.database.read() as connection:
        head = await traces.head(connection, job_id)
        assert head.frozen
        return (await traces.read(connection, job_id, head.generation, 0, head.size)).decode()


async def fails(site: Site, config: str, **request: Any) -> str:
    """A release that can never be made: the job fails once and for all, and its log says why."""
    await begin(site, config, **request)
    job = await site.world.job()
    await site.world.patch(job, 0, b"done\n")
    codes = [(await site.world.put(job, "success", b"done\n")).status_code for _ in range(2)]
    assert codes == [200, 200], "a repetition gets the same answer"
    row = await site.world.row(job["id"])
    assert (row.status, row.failure_reason, row.exit_code, row.folded) == ("failed", "script_failure", 1, False)
    async with site.services.database.read() as connection:
        statement = outbox.outbox.select().where(outbox.outbox.c.job_id == job["id"])
        assert len((await connection.execute(statement)).all()) == 1
    log = await log_of(site, job["id"])
    assert log.startswith("done\n\n\x1b[31;1mERROR: Job failed: the release could not be made. ")
    return log


async def test_a_success_makes_tag_release_and_the_pipeline_of_the_tag(site: Site) -> None:
    variables = ({"key": "DESCRIBED", "value": "Costs $RAW"},)
    await begin(site, RELEASING, variables=variables)
    job = await site.world.job()
    assert await found(site, "v1.2.0") is None
    assert (await site.world.put(job, "success", b"")).status_code == 200
    row = await found(site, "v1.2.0")
    sha = (await tags(site))["v1.2.0"]
    assert (row.name, row.description, row.sha, row.job_id) == ("Release 1.2.0", "Costs US$5", sha, job["id"])
    assert (row.milestones, row.released_at.isoformat()) == (["m1", "1.2.0"], "2030-01-02T03:04:05+00:00")
    link = {"name": "binary 1.2.0", "url": "https://example.com/1.2.0/app", "filepath": "/app"}
    assert row.assets == {"links": [link]}
    (tag,) = await site.services.repositories.get(site.world.project_id).tags()
    assert tag.object != tag.sha, "it is annotated"
    assert await tag_pipelines(site) == [("v1.2.0", "push", ["on tag"])]
    assert (await site.world.row(job["id"])).status == "success"


async def test_its_texts_know_the_variables_that_a_job_of_another_pipeline_reported(site: Site) -> None:
    parent = await reported(site.world, "VERSION=2.0")
    needs = f"[{{pipeline: '{parent}', job: build}}]"
    config = f"release job: {{script: x, needs: {needs}, release: {{tag_name: v$VERSION, description: words}}}}\n"
    await begin(site, config, source="parent_pipeline", upstream_id=parent)
    assert (await site.world.put(await site.world.job(), "success", b"")).status_code == 200
    assert await found(site, "v2.0") is not None


async def test_a_repeated_success_makes_nothing_twice(site: Site) -> None:
    await begin(site)
    job = await site.world.job()
    for _ in range(3):
        assert (await site.world.put(job, "success", b"")).status_code == 200
    assert len(await tag_pipelines(site)) == 1
    assert (await found(site)).job_id == job["id"]


async def test_a_further_attempt_of_the_job_finds_its_release_and_succeeds(site: Site) -> None:
    await begin(site)
    job = await site.world.job()
    await site.world.put(job, "success", b"")
    other = await begin(site)
    second = await site.world.job()
    async with site.services.database.write() as connection:
        statement = update(job_table).where(job_table.c.pipeline_id == other)
        await connection.execute(statement.values(first_id=job["id"], attempt=2))
    token = {**second, "token": await token_of_attempt(site, second)}
    assert (await site.world.put(token, "success", b"")).status_code == 200
    assert (await site.world.row(second["id"])).status == "success"


async def token_of_attempt(site: Site, job: dict[str, Any]) -> str:
    """The token that the job would have as its second attempt."""
    tokens = site.services.job_tokens
    return tokens.issue(replace(tokens.read(job["token"]), attempt=2), 60, site.services.clock())


async def test_the_description_may_be_a_file_of_the_commit(site: Site) -> None:
    await begin(site, "release job: {script: x, release: {tag_name: v1, description: ./docs/notes.md}}\n")
    await site.world.put(await site.world.job(), "success", b"")
    row = await found(site)
    assert (row.description, row.name) == ("# Notes\nä\n", "v1")


async def test_an_existing_tag_is_taken_as_it_is(site: Site) -> None:
    repository = site.services.repositories.get(site.world.project_id)
    sha = await repository.resolve("main") or ""
    await git_tag(site, "v1")
    await begin(site, "release job: {script: x, release: {tag_name: v1, description: x, ref: nowhere}}\n")
    await site.world.put(await site.world.job(), "success", b"")
    assert (await found(site)).sha == sha
    assert await tag_pipelines(site) == []


async def git_tag(site: Site, name: str) -> None:
    await git("tag", name, "main", cwd=site.services.repositories.path(site.world.project_id))


async def test_a_failed_or_canceled_job_releases_nothing(site: Site) -> None:
    await begin(site)
    await site.world.put(await site.world.job(), "failed", b"")
    pipeline_id = await begin(site)
    job = await site.world.job()
    async with site.services.database.write() as connection:
        await cancel_jobs(connection, pipeline_id, [job["id"]], site.services.clock())
    assert (await site.world.put(job, "success", b"")).status_code == 200
    assert (await site.world.row(job["id"])).status == "canceled"
    assert (await found(site), await tags(site)) == (None, {})


@pytest.mark.parametrize(
    ("release", "said"),
    [
        ("{tag_name: $NOTHING, description: x}", "tag_name is empty; give the release a tag."),
        ("{tag_name: a..b, description: x}", "'a..b' is not the name of a branch, tag or commit."),
        (
            "{tag_name: v1, description: x, ref: nowhere}",
            "The tag v1 cannot be made: there is no branch, tag or commit 'nowhere'.",
        ),
        (
            "{tag_name: v1, description: x, assets: {links: [{name: n, url: 'ssh://x/y'}]}}",
            "assets: the link n has url 'ssh://x/y'; use http, https or ftp.",
        ),
        (
            "{tag_name: v1, description: x, assets: {links: [{name: n, url: 'http://a'}, {name: n, url: 'http://b'}]}}",
            "assets has two links with name 'n'; each must have its own.",
        ),
    ],
)
async def test_what_can_never_be_released_fails_the_job(site: Site, release: str, said: str) -> None:
    assert said in await fails(site, f"release job: {{script: x, release: {release}}}\n")
    assert (await found(site), await tags(site)) == (None, {})


async def test_another_release_of_the_tag_fails_the_job(site: Site) -> None:
    await begin(site)
    await site.world.put(await site.world.job(), "success", b"")
    first = await found(site)
    log = await fails(site, SIMPLE)
    assert "Release v1 already exists; delete it, or release another tag." in log
    assert (await found(site)).job_id == first.job_id


async def test_a_user_who_may_not_push_releases_nothing(site: Site) -> None:
    reader = await site.person("reader", 20)
    assert "could not be made. Forbidden" in await fails(site, SIMPLE, user_id=reader.id)
    assert await tags(site) == {}


@pytest.mark.parametrize(("module", "place"), [(push, "move_refs"), (tagging, "tag_object")])
async def test_while_the_disk_is_away_the_verdict_comes_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, module: ModuleType, place: str
) -> None:
    async def away(*_: Any) -> str:
        raise Unavailable("The disk is away.")

    await begin(site)
    job = await site.world.job()
    with monkeypatch.context() as broken:
        broken.setattr(module, place, away)
        response = await site.world.put(job, "success", b"")
    assert (response.status_code, response.json()["message"]) == (503, "The disk is away.")
    assert (await site.world.row(job["id"])).status == "running"
    assert (await site.world.put(job, "success", b"")).status_code == 200
    assert (await found(site)).job_id == job["id"]
    assert len(await tag_pipelines(site)) == 1


async def test_when_the_verdict_is_lost_so_is_the_release_and_both_come_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise Unavailable("The database is away.")

    await begin(site)
    job = await site.world.job()
    with monkeypatch.context() as broken:
        broken.setattr(verdicts, "end_jobs", away)
        assert (await site.world.put(job, "success", b"")).status_code == 503
    assert await found(site) is None
    assert list(await tags(site)) == ["v1"], "the tag is made before, and found again"
    assert (await site.world.put(job, "success", b"")).status_code == 200
    assert (await found(site)).job_id == job["id"]
    assert len(await tag_pipelines(site)) == 1


async def test_a_tag_whose_pipeline_cannot_be_made_now_gets_it_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> list[str]:
        raise Unavailable("The compiler died.")

    await begin(site)
    job = await site.world.job()
    with monkeypatch.context() as broken:
        broken.setattr(push, "finish", away)
        assert (await site.world.put(job, "success", b"")).status_code == 200
    assert await tag_pipelines(site) == []
    await finish_abandoned(site.services, all_of_them=True)
    assert await tag_pipelines(site) == [("v1", "push", ["on tag"])]
    async with site.services.database.read() as connection:
        assert all(row.done_at for row in (await connection.execute(push_table.select())).all())


async def test_a_job_without_release_is_not_looked_at(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(*_: Any) -> None:
        raise AssertionError("a query for nothing")

    await begin(site, "plain: {script: x}\n")
    job = await site.world.job()
    monkeypatch.setattr(job_release, "holder", read)
    assert (await site.world.put(job, "success", b"")).status_code == 200
