"""An unmodified client administers runners: python-gitlab against a real HTTP server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import gitlab
import pytest
from gitlab.exceptions import GitlabGetError, GitlabVerifyError
from gitlab.v4.objects import Group, Project, Runner

from tests.api.v4.site import Site, serving


@pytest.fixture
async def gl(site: Site) -> AsyncIterator[gitlab.Gitlab]:
    """A client that acts as root."""
    async with serving(site) as url:
        client = gitlab.Gitlab(url, private_token=site.root.token)
        client.session.trust_env = False
        yield client
        client.session.close()


async def test_python_gitlab_administers_runners(site: Site, gl: gitlab.Gitlab) -> None:
    path = await site.path()
    await asyncio.to_thread(_administer, gl, path)


def _administer(gl: gitlab.Gitlab, path: str) -> None:
    gl.auth()
    assert gl.user is not None
    project = gl.projects.get(path)
    group = gl.groups.get(project.namespace["id"])
    made = {
        "instance": gl.user.runners.create({"runner_type": "instance_type", "tag_list": ["a", "b"]}),
        "group": gl.user.runners.create({"runner_type": "group_type", "group_id": group.id}),
        "project": gl.user.runners.create({"runner_type": "project_type", "project_id": project.id, "locked": True}),
    }
    for runner in made.values():
        gl.runners.verify(runner.token)
    with pytest.raises(GitlabVerifyError):
        gl.runners.verify("glrt-no")
    assert {item.id for item in gl.runners.list(get_all=True)} == {made["group"].id, made["project"].id}
    assert made["instance"].id in {item.id for item in gl.runners_all.list(iterator=True)}
    assert [item.id for item in gl.runners_all.list(tag_list=["a", "b"])] == [made["instance"].id]
    assert [item.id for item in gl.runners_all.list(type="group_type", status="online")] == [made["group"].id]
    assert {item.id for item in gl.runners.all(scope="specific")} == {made["project"].id}
    assert {made["group"].id, made["project"].id} < {item.id for item in project.runners.list(get_all=True)}
    assert {made["group"].id, made["instance"].id} < {item.id for item in group.runners.list(get_all=True)}
    known = gl.runners.get(made["project"].id)
    assert (known.online, known.job_execution_status, known.locked) == (True, "idle", True)
    assert [item["id"] for item in known.projects] == [project.id]
    assert known.jobs.list() == []
    known.locked = False
    known.tag_list = ["x"]
    known.save()
    second = gl.projects.create({"name": "second", "namespace_id": group.id})
    second.runners.create({"runner_id": known.id})
    project.runners.delete(known.id)
    with pytest.raises(gitlab.GitlabDeleteError, match="Only one project"):
        second.runners.delete(known.id)
    project.shared_runners_enabled = False
    project.save()
    assert {item.id for item in gl.projects.get(path).runners.list(get_all=True)} == {made["group"].id}
    _reset(gl, project, group, known)
    gl.runners.delete(known.id)
    with pytest.raises(GitlabGetError, match="404 Runner Not Found"):
        gl.runners.get(known.id)


def _reset(gl: gitlab.Gitlab, project: Project, group: Group, known: Runner) -> None:
    """Tokens of the runner, and those with which runners register."""
    new: Any = gl.http_post(f"/runners/{known.id}/reset_authentication_token")
    gl.runners.verify(new["token"])
    for address in ("/runners", f"/projects/{project.id}/runners", f"/groups/{group.id}/runners"):
        fresh: Any = gl.http_post(f"{address}/reset_registration_token")
        registered = gl.runners.create({"token": fresh["token"], "description": address, "tag_list": "r"})
        assert gl.runners.get(registered.id).description == address
        gl.http_delete("/runners", query_data={"token": registered.token})
        with pytest.raises(GitlabGetError, match="404 Runner Not Found"):
            gl.runners.get(registered.id)
    managers: Any = gl.http_get(f"/runners/{known.id}/managers")
    assert managers[0]["system_id"] == "<legacy>"
