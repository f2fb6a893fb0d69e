"""An unmodified client: python-gitlab against a real HTTP server."""

import asyncio
from collections.abc import AsyncIterator

import gitlab
import pytest
from gitlab.v4.objects import Project, ProjectPipeline

from tests.api.v4.site import Site, serving


@pytest.fixture
async def gl(site: Site) -> AsyncIterator[gitlab.Gitlab]:
    """A client that acts as root."""
    site.connect_temporal()
    async with serving(site) as url:
        client = gitlab.Gitlab(url, private_token=site.root.token)
        client.session.trust_env = False
        yield client
        client.session.close()


async def test_python_gitlab_works_unmodified(site: Site, gl: gitlab.Gitlab) -> None:
    await site.commit({".gitlab-ci.yml": "build: {stage: build, script: make}\ncheck: {stage: test, script: x}\n"})
    path = await site.path()

    def begin() -> tuple[Project, ProjectPipeline]:
        gl.auth()
        assert gl.user is not None
        assert gl.user.username == "root"
        assert gl.version()[0].count(".") == 2
        assert path in [item.path_with_namespace for item in gl.projects.list(iterator=True)]
        project = gl.projects.get(path)
        assert gl.projects.get(project.id).path_with_namespace == path
        pipeline = project.pipelines.create({"ref": "main", "variables": [{"key": "A", "value": "1"}]})
        project.pipelines.create({"ref": "main"})
        assert [item.id for item in project.pipelines.list(per_page=1, get_all=True)][-1] == pipeline.id
        assert project.pipelines.get(pipeline.id).status == "created"
        assert [item.key for item in pipeline.variables.list()] == ["A"]
        assert {job.name for job in pipeline.jobs.list(get_all=True)} == {"build", "check"}
        with pytest.raises(gitlab.GitlabCreateError, match="Reference not found"):
            project.pipelines.create({"ref": "nowhere"})
        with pytest.raises(gitlab.GitlabGetError, match="404 Project Not Found"):
            gl.projects.get("no/such")
        return project, pipeline

    project, pipeline = await asyncio.to_thread(begin)
    await site.world.settle(pipeline.id)
    given = await site.world.job()
    await site.world.patch(given, 0, b"hello\n")
    await site.world.put(given, "failed", b"hello\n", failure_reason="script_failure")
    await site.world.settle(pipeline.id)

    def end() -> None:
        job = project.jobs.get(given["id"])
        assert (job.status, job.failure_reason) == ("failed", "script_failure")
        assert job.trace() == b"hello\n"
        assert [item.id for item in project.jobs.list(scope=["failed"], get_all=True)] == [job.id]
        job.retry()
        with pytest.raises(gitlab.GitlabJobRetryError, match="Job is not retryable"):
            job.retry()
        fresh = next(item for item in pipeline.jobs.list(get_all=True) if item.name == "build")
        assert (fresh.attempt, fresh.status) == (2, "created")
        pipeline.cancel()
        pipeline.refresh()
        project.jobs.get(fresh.id).refresh()
        assert project.jobs.get(fresh.id).status == "canceled"

    await asyncio.to_thread(end)
    await site.world.settle(pipeline.id)

    def administer() -> None:
        project.pipelines.get(pipeline.id).retry()
        group = gl.groups.create({"name": "Acme", "path": "acme"})
        made = gl.projects.create({"name": "App", "namespace_id": group.id})
        assert gl.groups.get("acme").projects.list()[0].id == made.id
        user = gl.users.create({"username": "ada", "name": "Ada", "email": "ada@example.com", "password": "secret123"})
        assert user.personal_access_tokens.create({"name": "t", "scopes": ["api"]}).token.startswith("glpat-")
        assert gl.users.list(username="ada")[0].id == user.id
        made.members.create({"user_id": user.id, "access_level": gitlab.const.AccessLevel.DEVELOPER})
        assert {member.username for member in made.members.list()} == {"root", "ada"}
        assert gl.user is not None
        runner = gl.user.runners.create({"runner_type": "instance_type", "tag_list": ["a", "b"]})
        assert runner.token.startswith("glrt-")
        known = gl.runners.get(runner.id)
        known.paused = True
        known.save()
        assert gl.runners.get(runner.id).paused
        gl.runners.delete(runner.id)
        assert runner.id not in {item.id for item in gl.runners_all.list(get_all=True)}

    await asyncio.to_thread(administer)
