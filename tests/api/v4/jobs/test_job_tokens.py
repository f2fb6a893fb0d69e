"""Running jobs call the REST API with their token: in their own project, and in those that let them in."""

import asyncio
from typing import Any

import gitlab
import httpx
import pytest
from sqlalchemy import update

from models.repositories.pipelines import job_rows, pipelines
from tests.api.v4.jobs.test_artifacts import archive
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Person, Site, serving
from tests.git.serving import git

TWO = """
build: {stage: build, script: make, artifacts: {paths: [out]}}
use: {stage: test, script: x, environment: live}
"""


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit, private."""
    here = Merging(site)
    await here.begin()
    await site.set_project(visibility="private")
    return here


async def running(site: Site, user: Person, config: str = "use: {script: x}\n") -> dict[str, Any]:
    """A job of the project that runs in the name of somebody, as its runner has got it."""
    await site.world.pipeline(config)
    job: dict[str, Any] = await site.world.job()
    await of(site, user)
    return job


async def of(site: Site, user: Person) -> None:
    """All jobs are somebody's."""
    async with site.services.database.write() as connection:
        await connection.execute(update(pipelines.pipeline).values(user_id=user.id))
        await connection.execute(update(job_rows.job).values(user_id=user.id))


async def another(site: Site, **values: Any) -> dict[str, Any]:
    """Another project, with the same commit."""
    async with site.client(site.root) as client:
        made: dict[str, Any] = (await client.post("/api/v4/projects", json={"name": "other", **values})).json()
    tree = site.folder / "tree"
    await git("push", "-q", site.services.repositories.path(made["id"]), "main", cwd=tree)
    return made


async def status(client: httpx.AsyncClient, method: str, path: str, **options: Any) -> int:
    return (await client.request(method, f"/api/v4{path}", **options)).status_code


async def test_python_gitlab_uses_a_job_token_where_gitlab_lets_it(here: Merging) -> None:
    site = here.site
    user = await site.person("builder", 30)
    await here.feature("feature")
    await site.world.pipeline(TWO)
    build = await site.world.job()
    assert (await site.world.upload(build, archive({"out/a.txt": "1"}), artifact_format="zip")).status_code == 201
    await site.world.put(build, "success", b"")
    (row,) = [one for one in await here.all_pipelines() if one["source"] != "merge_request_event"]
    await site.world.settle(row["id"])
    job = await site.world.job()
    await of(site, user)

    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, job_token=job["token"])
        project = gl.projects.get(here.id, lazy=True)
        own = gl.http_get("/job")
        assert isinstance(own, dict)
        assert (own["id"], own["user"]["username"], own["status"]) == (job["id"], "builder", "running")
        assert {one.name for one in project.branches.list(get_all=True)} == {"main", "feature"}
        assert project.tags.list(get_all=True) == []
        assert project.commits.get("main").title == "First"
        assert b"read me" in project.files.raw("README", ref="main")
        assert [one.iid for one in project.mergerequests.list(get_all=True)] == [1]
        assert project.mergerequests.get(1).source_branch == "feature"
        assert [one.name for one in project.environments.list(get_all=True)] == ["live"]
        (deployment,) = project.deployments.list(get_all=True)
        assert project.deployments.get(deployment.id).status == "running"
        environment = project.environments.create({"name": "review"})
        environment.stop()
        release = project.releases.create({"tag_name": "v1", "ref": "main", "description": "First"})
        assert release.author["username"] == "builder"
        assert project.jobs.get(build["id"], lazy=True).artifact("out/a.txt") == b"1"
        for forbidden in (
            lambda: project.jobs.list(),
            lambda: project.variables.list(),
            lambda: project.branches.get("main"),
            lambda: project.pipelines.create({"ref": "main"}),
            lambda: gl.projects.get(here.id),
            lambda: gl.auth(),
        ):
            with pytest.raises(gitlab.GitlabError) as caught:
                forbidden()
            assert caught.value.response_code in {401, 404}
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)


async def test_the_token_is_taken_in_every_place_and_only_while_the_job_runs(here: Merging) -> None:
    site = here.site
    user = await site.person("builder", 30)
    job = await running(site, user)
    path = f"/projects/{here.id}/repository/branches"
    ways: list[dict[str, Any]] = [
        {"headers": {"JOB-TOKEN": job["token"]}},
        {"headers": {"PRIVATE-TOKEN": job["token"]}},
        {"headers": {"Authorization": f"Bearer {job['token']}"}},
        {"params": {"job_token": job["token"]}},
    ]
    async with site.client() as client:
        assert [await status(client, "GET", path, **way) for way in ways] == [200] * 4
        assert await status(client, "GET", path, headers={"JOB-TOKEN": job["token"][:-2] + "xx"}) == 403
        both = {"JOB-TOKEN": job["token"], "PRIVATE-TOKEN": site.root.token}
        assert (await client.get("/api/v4/user", headers=both)).json()["username"] == "root"
        for verb, expected in (("block", 401), ("unblock", 200)):
            root = {"PRIVATE-TOKEN": site.root.token}
            assert await status(client, "POST", f"/users/{user.id}/{verb}", headers=root) == 201
            assert await status(client, "GET", path, **ways[0]) == expected
        await site.world.put(job, "success", b"")
        ended = await client.get(f"/api/v4{path}", **ways[0])
        assert (ended.status_code, ended.headers["job-status"]) == (403, "success")
        assert await status(client, "GET", "/job", **ways[0]) == 403
        assert await status(client, "GET", "/job") == 401
        assert await status(client, "GET", "/job", headers={"PRIVATE-TOKEN": site.root.token}) == 401


async def test_a_job_may_no_more_than_its_user(here: Merging) -> None:
    site = here.site
    reader = await site.person("reader", 20)
    job = await running(site, reader)
    async with site.client(headers={"JOB-TOKEN": job["token"]}) as client:
        base = f"/projects/{here.id}"
        assert await status(client, "GET", f"{base}/environments") == 200
        assert await status(client, "POST", f"{base}/environments", json={"name": "x"}) == 403
        assert await status(client, "POST", f"{base}/releases", json={"tag_name": "v1", "ref": "main"}) == 403


async def test_another_project_lets_jobs_in_by_its_list(here: Merging) -> None:
    site = here.site
    other = await another(site, visibility="private")
    job = await running(site, site.root)
    path = f"/projects/{other['id']}/environments"
    scope = f"/projects/{other['id']}/job_token_scope"
    async with site.client(headers={"JOB-TOKEN": job["token"]}) as jobs, site.client(site.root) as client:
        assert await status(jobs, "GET", path) == 404, "not even in the name of an administrator"
        assert await status(client, "POST", f"{scope}/allowlist", json={"target_project_id": here.id}) == 201
        assert await status(jobs, "GET", path) == 200
        assert await status(jobs, "POST", path, json={"name": "x"}) == 201
        assert await status(client, "DELETE", f"{scope}/allowlist/{here.id}") == 204
        assert await status(jobs, "GET", path) == 404
        assert await status(client, "PATCH", scope, json={"enabled": False}) == 204
        assert await status(jobs, "GET", path) == 200
        assert await status(client, "PATCH", scope, json={"enabled": True}) == 204
        mine = (await client.get(f"/api/v4/projects/{here.id}")).json()["namespace"]["id"]
        assert await status(client, "POST", f"{scope}/groups_allowlist", json={"target_group_id": mine}) == 201
        assert await status(jobs, "GET", path) == 200
        assert await status(client, "DELETE", f"{scope}/groups_allowlist/{mine}") == 204
        assert await status(jobs, "GET", path) == 404


async def test_what_everybody_may_read_a_job_may_read_and_no_more(here: Merging) -> None:
    site = here.site
    other = await another(site, visibility="public")
    job = await running(site, site.root)
    async with site.client(headers={"JOB-TOKEN": job["token"]}) as jobs:
        base = f"/projects/{other['id']}"
        assert await status(jobs, "GET", f"{base}/repository/branches") == 200
        assert await status(jobs, "POST", f"{base}/environments", json={"name": "x"}) == 403
        assert await status(jobs, "POST", f"{base}/releases", json={"tag_name": "v1", "ref": "main"}) == 403


async def test_a_clone_of_another_project_asks_the_same_list(here: Merging) -> None:
    site = here.site
    other = await another(site, visibility="private")
    user = await site.person("builder", 30)
    job = await running(site, user)
    async with serving(site) as url, site.client(site.root) as client:
        remote = url.replace("://", f"://gitlab-ci-token:{job['token']}@") + f"/{other['path_with_namespace']}.git"
        await git("ls-remote", remote, cwd=site.folder, code=128)
        scope = f"/projects/{other['id']}/job_token_scope"
        assert await status(client, "POST", f"{scope}/allowlist", json={"target_project_id": here.id}) == 201
        await git("ls-remote", remote, cwd=site.folder, code=128)
        member = {"user_id": user.id, "access_level": 20}
        assert await status(client, "POST", f"/projects/{other['id']}/members", json=member) == 201
        assert "refs/heads/main" in await git("ls-remote", remote, cwd=site.folder)
        await git("push", remote, "main:refs/heads/more", cwd=site.folder / "tree", code=128)
