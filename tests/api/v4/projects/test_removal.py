"""Removing pipelines and erasing jobs over the REST API: by whom, when, and what is left; with a client of GitLab's."""

import asyncio

import gitlab
import pytest
from sqlalchemy import func, select, update

from loops.archiver import Archiver
from loops.artifacts import ArtifactLoop
from models.columns import table_of
from models.repositories.installation.audit import event
from models.repositories.pipelines.job_rows import job as jobs
from models.tables.artifacts import ObjectToDelete
from models.tables.logs import Trace, TraceChunk
from models.tables.pipelines import Pipeline
from tests.api.v4.jobs.test_artifacts import archive
from tests.api.v4.jobs.test_jobs import address
from tests.api.v4.site import Site, serving

DEVELOPER, MAINTAINER, OWNER = 30, 40, 50
ONE = "build: {script: make, artifacts: {paths: [out]}}\n"
LOG = b"what was said\n"


async def ended(site: Site, *, stored: bool = True) -> tuple[int, int]:
    """A pipeline that has ended, with a log and an archive; its id and that of its job."""
    pipeline_id = await site.world.pipeline(ONE)
    job = await site.world.job()
    assert (await site.world.patch(job, 0, LOG)).status_code == 202
    uploaded = await site.world.upload(job, archive({"a": "a"}), artifact_format="zip", artifact_type="archive")
    assert uploaded.status_code == 201
    assert (await site.world.put(job, "success", LOG)).status_code == 200
    await site.world.settle(pipeline_id)
    services = site.services
    if stored:
        await Archiver(services.database, services.store, services.notifications).move()
    return pipeline_id, job["id"]


def of_pipeline(site: Site, pipeline_id: int) -> str:
    return f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline_id}"


async def objects(site: Site) -> set[str]:
    """What is in the store, once what is doomed was deleted."""
    await ArtifactLoop(site.services.database, site.services.store, 1).delete_unused()
    root = site.services.store.root
    assert root is not None
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("level", [DEVELOPER, MAINTAINER])
async def test_only_owners_remove_pipelines(site: Site, level: int) -> None:
    pipeline_id, _ = await ended(site)
    person = await site.person("somebody", level)
    async with site.client(person) as client:
        assert (await client.delete(of_pipeline(site, pipeline_id))).status_code == 403
        assert (await client.get(of_pipeline(site, pipeline_id))).status_code == 200


async def test_a_removed_pipeline_leaves_nothing(site: Site) -> None:
    pipeline_id, job_id = await ended(site)
    assert len(await objects(site)) == 2
    owner = await site.person("owner", OWNER)
    async with site.client(owner) as client:
        gone = await client.delete(of_pipeline(site, pipeline_id))
        again = await client.delete(of_pipeline(site, pipeline_id))
        job = await client.get(address(site, f"/{job_id}"))
    assert (gone.status_code, again.status_code, job.status_code) == (204, 404, 404)
    assert await objects(site) == set()
    async with site.services.database.read() as connection:
        for model in (Pipeline, Trace, TraceChunk, ObjectToDelete):
            assert (await connection.execute(select(func.count()).select_from(table_of(model)))).scalar() == 0
        written = (await connection.execute(select(event).where(event.c.event == "pipeline_removed"))).one()
    assert (written.author_name, written.details["pipeline"]) == ("owner", pipeline_id)


async def test_a_pipeline_that_has_not_ended_is_not_removed(site: Site) -> None:
    pipeline_id = await site.world.pipeline(ONE)
    async with site.client(site.root) as client:
        response = await client.delete(of_pipeline(site, pipeline_id))
        assert (response.status_code, "cancel it first" in response.text) == (409, True)
        assert (await client.get(of_pipeline(site, pipeline_id))).status_code == 200


@pytest.mark.parametrize("stored", [True, False])
async def test_an_erased_job_has_neither_log_nor_artifacts_and_says_when(site: Site, stored: bool) -> None:
    _, job_id = await ended(site, stored=stored)
    async with site.client(site.root) as client:
        before = (await client.get(address(site, f"/{job_id}/trace"))).content
        erased = await client.post(address(site, f"/{job_id}/erase"))
        log = await client.get(address(site, f"/{job_id}/trace"))
        files = await client.get(address(site, f"/{job_id}/artifacts"))
        again = await client.post(address(site, f"/{job_id}/erase"))
    assert before == LOG
    assert erased.status_code == 201
    assert erased.json()["erased_at"].endswith("Z")
    assert erased.json()["status"] == "success"
    assert erased.json()["artifacts"] == []
    assert (log.content, files.status_code) == (b"", 404)
    assert (again.status_code, again.json()["message"]) == (403, "403 Forbidden - Job is not erasable!")
    services = site.services
    await Archiver(services.database, services.store, services.notifications).move()
    assert await objects(site) == set()


async def test_developers_erase_their_own_jobs_maintainers_all_and_nobody_one_that_runs(site: Site) -> None:
    _, job_id = await ended(site)
    developer, maintainer = await site.person("dev", DEVELOPER), await site.person("main", MAINTAINER)
    path = address(site, f"/{job_id}/erase")
    async with site.client(developer) as one, site.client(maintainer) as other:
        assert (await one.post(path)).status_code == 403
        async with site.services.database.write() as connection:
            await connection.execute(update(jobs).values(user_id=developer.id))
        assert (await one.post(path)).status_code == 403, "main is protected: developers change nothing of its jobs"
        protection = f"/api/v4/projects/{site.world.project_id}/protected_branches/main"
        assert (await other.delete(protection)).status_code == 204
        assert (await one.post(path)).status_code == 201
        await site.world.pipeline(ONE)
        running = await site.world.job()
        assert (await other.post(address(site, f"/{running['id']}/erase"))).status_code == 403


async def test_a_project_says_how_long_its_pipelines_stay(site: Site) -> None:
    path = f"/api/v4/projects/{site.world.project_id}"
    owner, maintainer = await site.person("owner", OWNER), await site.person("main", MAINTAINER)
    field = "ci_delete_pipelines_in_seconds"
    async with site.client(owner) as client, site.client(maintainer) as other:
        assert (await client.put(path, json={field: 86_400})).json()[field] == 86_400
        assert (await other.put(path, json={field: 90_000})).status_code == 403
        assert (await other.put(path, json={"description": "x"})).json()[field] == 86_400
        for wrong in (3_600, 40_000_000, "soon"):
            response = await client.put(path, json={field: wrong})
            assert (response.status_code, field in response.text) == (400, True), wrong
        assert (await client.put(path, json={field: None})).json()[field] is None


async def test_python_gitlab_deletes_and_erases(site: Site) -> None:
    pipeline_id, job_id = await ended(site)

    def talk(url: str) -> str:
        api = gitlab.Gitlab(url, private_token=site.root.token)
        project = api.projects.get(site.world.project_id)
        project.ci_delete_pipelines_in_seconds = 172_800
        project.save()
        assert api.projects.get(project.id).ci_delete_pipelines_in_seconds == 172_800
        job = project.jobs.get(job_id)
        job.erase()
        when = str(project.jobs.get(job_id).erased_at)
        project.pipelines.delete(pipeline_id)
        assert project.pipelines.list(get_all=True) == []
        api.session.close()
        return when

    async with serving(site) as url:
        assert (await asyncio.to_thread(talk, url)).endswith("Z")
