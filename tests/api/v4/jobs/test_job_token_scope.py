"""Whose jobs may use a project with their tokens, by an unmodified python-gitlab."""

import asyncio

import gitlab
import pytest

from tests.api.v4.site import Site, serving


async def test_python_gitlab_keeps_the_lists(site: Site) -> None:
    async with site.client(site.root) as client:
        other = (await client.post("/api/v4/projects", json={"name": "other"})).json()
        group = (await client.post("/api/v4/groups", json={"name": "team", "path": "team"})).json()
    own = site.world.project_id

    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        scope = gl.projects.get(own).job_token_scope.get()
        assert (scope.inbound_enabled, scope.outbound_enabled) == (True, False)
        scope.enabled = False
        scope.save()
        scope.refresh()
        assert not scope.inbound_enabled
        added = scope.allowlist.create({"target_project_id": other["id"]})
        assert (added.source_project_id, added.target_project_id) == (own, other["id"])
        assert [one.id for one in scope.allowlist.list(get_all=True)] == [own, other["id"]]
        for again in (other["id"], own):
            with pytest.raises(gitlab.GitlabCreateError, match="already in the job token scope"):
                scope.allowlist.create({"target_project_id": again})
        scope.allowlist.delete(other["id"])
        with pytest.raises(gitlab.GitlabDeleteError, match="not in the job token scope"):
            scope.allowlist.delete(other["id"])
        assert scope.groups_allowlist.create({"target_group_id": group["id"]}).target_group_id == group["id"]
        assert [(one.id, one.name) for one in scope.groups_allowlist.list(get_all=True)] == [(group["id"], "team")]
        scope.groups_allowlist.delete(group["id"])
        assert scope.groups_allowlist.list(get_all=True) == []
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)


async def test_only_maintainers_may_and_they_must_see_whom_they_let_in(site: Site) -> None:
    ada, ben = await site.person("ada", 40), await site.person("ben", 30)
    path = f"/api/v4/projects/{site.world.project_id}/job_token_scope"
    async with site.client(site.root) as root, site.client(ada) as maintainer, site.client(ben) as developer:
        hidden = (await root.post("/api/v4/projects", json={"name": "hidden", "visibility": "private"})).json()
        group = (await root.post("/api/v4/groups", json={"name": "team", "path": "team"})).json()
        assert (await developer.get(path)).status_code == 403
        assert (await maintainer.get(path)).status_code == 200
        body = {"target_project_id": hidden["id"]}
        assert (await maintainer.post(f"{path}/allowlist", json=body)).status_code == 404
        assert (
            await maintainer.post(f"{path}/groups_allowlist", json={"target_group_id": group["id"]})
        ).status_code == 404
        assert (await root.post(f"{path}/allowlist", json=body)).status_code == 201
        assert (await root.delete(f"/api/v4/projects/{hidden['id']}")).status_code == 202
        assert len((await root.get(f"{path}/allowlist")).json()) == 1


async def test_a_group_that_goes_is_on_no_list_and_takes_all_it_has_with_it(site: Site) -> None:
    path = f"/api/v4/projects/{site.world.project_id}/job_token_scope/groups_allowlist"
    async with site.client(site.root) as client:
        group = (await client.post("/api/v4/groups", json={"name": "team", "path": "team"})).json()
        assert (await client.post(path, json={"target_group_id": group["id"]})).status_code == 201
        assert (await client.post("/api/v4/groups/team/variables", json={"key": "A", "value": "b"})).status_code == 201
        token = {"name": "bot", "scopes": ["api"], "access_level": 30}
        assert (await client.post("/api/v4/groups/team/access_tokens", json=token)).status_code == 201
        assert (await client.delete("/api/v4/groups/team")).status_code == 202
        assert (await client.get(path)).json() == []
