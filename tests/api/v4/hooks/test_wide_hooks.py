"""Webhooks of groups and of the installation, by an unmodified python-gitlab, and what they are told."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import gitlab
import pytest
from standardwebhooks.webhooks import Webhook

from domain.hooks.webhooks import Event, bits_of
from models.columns import table_of
from models.repositories.hooks import webhook_events
from models.repositories.projects import projects
from models.tables.hooks import Hook, HookDelivery
from models.tables.projects import Project
from tests.activities.receiver import NETWORK, Receiver, receiving
from tests.api.v4.hooks.delivering import told, until
from tests.api.v4.site import Person, Site, open_site, serving
from tests.git.serving import git, new_commit, new_work_tree

CONFIG = "build: {stage: build, script: make}\n"
KEY = "whsec_" + base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation that may reach the receivers of tests."""
    async with open_site(tmp_path, database_url, outbound_networks=NETWORK) as opened:
        yield opened


async def made(site: Site, path: str, who: Person | None = None, /, **body: Any) -> dict[str, Any]:
    """A thing that is made over the API."""
    async with site.client(who or site.root) as client:
        response = await client.post(f"/api/v4{path}", json=body)
    assert response.status_code in {200, 201}, f"{path}: {response.text}"
    found: dict[str, Any] = response.json()
    return found


async def status(site: Site, method: str, path: str, who: Person, /, **body: Any) -> int:
    async with site.client(who) as client:
        return (await client.request(method, f"/api/v4{path}", json=body)).status_code


async def rows(site: Site, model: Any) -> Any:
    async with site.services.database.read() as connection:
        return (await connection.execute(table_of(model).select())).all()


async def watched(site: Site, project_id: int) -> int:
    (row,) = [row for row in await rows(site, Project) if row.id == project_id]
    return int(row.watched)


async def tree_of_groups(site: Site) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A group, a group within it, and a project in that."""
    top = await made(site, "/groups", name="top", path="top")
    inner = await made(site, "/groups", name="inner", path="inner", parent_id=top["id"])
    project = await made(site, "/projects", name="app", namespace_id=inner["id"])
    return top, inner, project


async def pushed(site: Site, url: str, project: dict[str, Any], **files: str) -> str:
    """A real push to a project; what was pushed."""
    tree = site.folder / f"tree-{project['id']}"
    sha = await new_commit(tree, files) if tree.exists() else await new_work_tree(tree, files)
    remote = url.replace("://", f"://root:{site.root.token}@") + f"/{project['path_with_namespace']}.git"
    await git("push", "-q", remote, "main", cwd=tree)
    return sha


def of_kind(receiver: Receiver, kind: str) -> list[Any]:
    return [one.body for one in receiver.got if one.body.get("event_name") == kind]


async def test_python_gitlab_keeps_hooks_of_groups(site: Site) -> None:
    top, _, project = await tree_of_groups(site)

    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        group = gl.groups.get(top["id"])
        hook = group.hooks.create({"url": "https://hook.example/", "pipeline_events": True, "token": "s3cret"})
        assert (hook.group_id, hook.push_events, hook.pipeline_events, hook.token_present) == (
            top["id"],
            True,
            True,
            True,
        )
        assert not hasattr(hook, "project_id")
        hook.job_events, hook.push_events = True, False
        hook.save()
        (listed,) = group.hooks.list(get_all=True)
        assert (listed.job_events, listed.push_events, listed.member_events) == (True, False, False)
        assert group.hooks.get(hook.id).job_events
        with pytest.raises(gitlab.GitlabHookTestError, match="Ensure the project has CI pipelines"):
            hook.test("pipeline_events")
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)
    assert await watched(site, project["id"]) == bits_of([Event.PIPELINE, Event.JOB])
    (row,) = await rows(site, Hook)
    async with site.client(site.root) as client:
        assert (await client.delete(f"/api/v4/groups/top/hooks/{row.id}")).status_code == 204
    assert await watched(site, project["id"]) == 0


async def test_python_gitlab_keeps_hooks_of_the_installation(site: Site) -> None:
    def play(url: str, address: str) -> None:
        gl = gitlab.Gitlab(url, private_token=site.root.token)
        hook = gl.hooks.create({"url": address, "merge_requests_events": True, "pipeline_events": True})
        shown = (hook.push_events, hook.merge_requests_events, hook.repository_update_events)
        assert shown == (False, True, True)
        assert not hasattr(hook, "pipeline_events")
        assert not hasattr(hook, "project_id")
        assert [one.id for one in gl.hooks.list(get_all=True)] == [hook.id]
        tried = gl.http_post(f"/hooks/{hook.id}")
        assert isinstance(tried, dict)
        assert tried["event_name"] == "project_create"
        assert gl.hooks.get(hook.id).url == address
        gl.hooks.delete(hook.id)
        gl.session.close()

    async with receiving() as receiver, told(site), serving(site) as url:
        await asyncio.to_thread(play, url, receiver.url)
    assert receiver.kinds() == ["System Hook"]
    assert receiver.got[0].body["event_name"] == "project_create"
    assert await rows(site, Hook) == []
    assert await rows(site, HookDelivery) == []


async def test_a_group_hears_of_all_projects_below_and_of_no_other(site: Site) -> None:
    top, inner, project = await tree_of_groups(site)
    other = await made(site, "/groups", name="other", path="other")
    foreign = await made(site, "/projects", name="app", namespace_id=other["id"])
    async with receiving() as receiver, told(site), serving(site) as url:
        hook = await made(site, f"/groups/{top['id']}/hooks", url=receiver.url, pipeline_events=True, signing_token=KEY)
        assert await watched(site, foreign["id"]) == 0
        late = await made(site, "/projects", name="late", namespace_id=inner["id"])
        await pushed(site, url, foreign, **{".gitlab-ci.yml": CONFIG})
        first = await pushed(site, url, project, **{".gitlab-ci.yml": CONFIG})
        await until(receiver, 2)
        second = await pushed(site, url, late, **{".gitlab-ci.yml": CONFIG})
        await until(receiver, 4)
        async with site.client(site.root) as client:
            events = (await client.get(f"/api/v4/groups/top/hooks/{hook['id']}/events")).json()
            again = await client.post(f"/api/v4/groups/top/hooks/{hook['id']}/events/{events[0]['id']}/resend")
        assert again.json() == {"response_status": 200}
    for got in receiver.got:
        Webhook(KEY).verify(got.raw, got.headers)
    kinds = sorted(receiver.kinds()[:4])
    assert kinds == ["Pipeline Hook", "Pipeline Hook", "Push Hook", "Push Hook"]
    told_of = {(one["project"]["id"], one["after"]) for one in of_kind(receiver, "push")}
    assert told_of == {(project["id"], first), (late["id"], second)}
    assert receiver.got[4].raw in {one.raw for one in receiver.got[:4]}


async def test_a_group_and_its_project_both_listen(site: Site) -> None:
    top, _, project = await tree_of_groups(site)
    await made(site, f"/groups/{top['id']}/hooks", url="https://one.example/", push_events=True)
    await made(site, f"/projects/{project['id']}/hooks", url="https://two.example/", push_events=False, job_events=True)
    assert await watched(site, project["id"]) == bits_of([Event.PUSH, Event.JOB])
    async with site.services.database.write() as connection:
        row = await projects.find(connection, project["id"])
        assert row is not None
        happened = webhook_events.Happening(row.id, Event.PUSH, branch="main")
        await webhook_events.note(connection, [happened], site.services.clock())
    (delivery,) = await rows(site, HookDelivery)
    (group_hook,) = [hook for hook in await rows(site, Hook) if hook.scope == "group"]
    assert delivery.hook_id == group_hook.id


async def test_the_installation_hears_of_pushes_without_their_commits(site: Site) -> None:
    _, _, project = await tree_of_groups(site)
    async with receiving() as receiver, told(site), serving(site) as url:
        await made(site, "/hooks", url=receiver.url, push_events=True)
        sha = await pushed(site, url, project, **{".gitlab-ci.yml": CONFIG})
        await until(receiver, 2)
    assert receiver.kinds() == ["System Hook", "System Hook"]
    (push,), (update,) = of_kind(receiver, "push"), of_kind(receiver, "repository_update")
    assert (push["after"], push["commits"], push["total_commits_count"]) == (sha, [], 1)
    assert update["refs"] == ["refs/heads/main"]
    assert update["changes"] == [{"before": "0" * 40, "after": sha, "ref": "refs/heads/main"}]
    assert (update["project"]["id"], update["project_id"]) == (project["id"], project["id"])
    assert (update["user_name"], update["user_id"]) == ("Administrator", site.root.id)


async def test_the_installation_hears_of_projects_groups_people_and_members(site: Site) -> None:
    async with receiving() as receiver, told(site), site.client(site.root) as client:
        await made(site, "/hooks", url=receiver.url)
        _, inner, project = await tree_of_groups(site)
        person = await made(site, "/users", username="bea", name="Bea", email="bea@example.com")
        for where, key in (("projects", project["id"]), ("groups", inner["id"])):
            base = f"/{where}/{key}/members"
            await made(site, base, user_id=person["id"], access_level=30)
            change = await client.put(f"/api/v4{base}/{person['id']}", json={"access_level": 40})
            assert change.status_code == 200
            assert (await client.delete(f"/api/v4{base}/{person['id']}")).status_code == 204
        await client.put(f"/api/v4/projects/{project['id']}", json={"description": "new"})
        assert (await client.delete(f"/api/v4/projects/{project['id']}")).status_code == 202
        assert (await client.delete(f"/api/v4/groups/{inner['id']}")).status_code == 202
        await until(receiver, 13)
    told_of = [one.body["event_name"] for one in receiver.got]
    assert told_of == [
        "group_create",
        "group_create",
        "project_create",
        "user_create",
        "user_add_to_team",
        "user_update_for_team",
        "user_remove_from_team",
        "user_add_to_group",
        "user_update_for_group",
        "user_remove_from_group",
        "project_update",
        "project_destroy",
        "group_destroy",
    ]
    assert set(receiver.kinds()) == {"System Hook"}
    project_create, user_create, joined = (receiver.got[place].body for place in (2, 3, 4))
    assert project_create["path_with_namespace"] == "top/inner/app"
    assert [owner["name"] for owner in project_create["owners"]] == ["Administrator"]
    assert (project_create["owner_name"], project_create["project_visibility"]) == ("inner", "private")
    assert (user_create["username"], user_create["email"]) == ("bea", "bea@example.com")
    assert (joined["access_level"], joined["user_username"], joined["project_path_with_namespace"]) == (
        "Developer",
        "bea",
        "top/inner/app",
    )
    assert receiver.got[5].body["access_level"] == "Maintainer"
    assert receiver.got[11].body["project_id"] == project["id"], "of a project that is gone"


async def test_only_owners_keep_hooks_of_a_group_and_only_administrators_those_of_the_installation(site: Site) -> None:
    top, _, _ = await tree_of_groups(site)
    ada, ben = await site.person("ada"), await site.person("ben")
    for person, level in ((ada, 50), (ben, 40)):
        await made(site, f"/groups/{top['id']}/members", user_id=person.id, access_level=level)
    body = {"url": "https://hook.example/"}
    assert await status(site, "POST", "/groups/top/hooks", ada, **body) == 201
    assert await status(site, "POST", "/groups/top/hooks", ben, **body) == 403
    assert await status(site, "GET", "/groups/top/hooks", ben) == 403
    assert await status(site, "POST", "/hooks", ada, **body) == 403
    assert await status(site, "POST", "/groups/top/hooks", ada, url="http://127.0.0.2/") == 422
    (row,) = await rows(site, Hook)
    assert await status(site, "GET", f"/hooks/{row.id}", site.root) == 404, "a hook of a group is none of these"
    other = await made(site, "/groups", name="other", path="other")
    assert await status(site, "GET", f"/groups/{other['id']}/hooks/{row.id}", site.root) == 404
    assert await status(site, "PUT", f"/groups/top/hooks/{row.id}/custom_headers/X-A", ada, value="1") == 204
    assert await status(site, "PUT", f"/groups/top/hooks/{row.id}/url_variables/a", ada, value="1") == 204


async def test_a_group_that_goes_takes_its_hooks_with_it(site: Site) -> None:
    group = await made(site, "/groups", name="gone", path="gone")
    await made(site, f"/groups/{group['id']}/hooks", url="https://hook.example/")
    await made(site, "/hooks", url="https://system.example/")
    assert await status(site, "DELETE", "/groups/gone", site.root) == 202
    assert [hook.scope for hook in await rows(site, Hook)] == ["system"]
