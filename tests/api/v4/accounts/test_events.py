"""Events of people and projects: what is told of each contribution, to whom, and how it is narrowed."""

import asyncio
from datetime import timedelta
from typing import Any

import gitlab
import pytest
from sqlalchemy import select, update

from models.columns import table_of
from models.repositories.pipelines import contributions
from models.tables.contributions import Contribution
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Person, Site, serving
from tests.git.serving import git, new_commit

contribution = table_of(Contribution)


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit."""
    here = Merging(site)
    await here.begin()
    return here


async def events(site: Site, path: str, who: Person | None = None, **query: Any) -> list[dict[str, Any]]:
    """A list of events, the newest first."""
    async with site.client(who or site.root) as client:
        response = await client.get(f"/api/v4{path}", params=query)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()
    return found


async def test_a_merge_request_leaves_its_trail(here: Merging) -> None:
    bea = await here.site.person("bea", 30)
    opened = await here.feature("feature", who=bea)
    await here.good("POST", "merge_requests/1/approve", json={})
    await here.good("PUT", "merge_requests/1", bea, json={"title": "Better"})
    await here.good("PUT", "merge_requests/1", bea, json={"state_event": "close"})
    await here.good("PUT", "merge_requests/1", bea, json={"state_event": "reopen"})
    assert (await here.merge(1)).status_code == 200
    found = await events(here.site, f"/projects/{here.id}/events", target_type="merge_request")
    assert [(one["action_name"], one["author_username"]) for one in reversed(found)] == [
        ("opened", "bea"),
        ("approved", "root"),
        ("closed", "bea"),
        ("reopened", "bea"),
        ("accepted", "root"),
    ]
    first = found[-1]
    assert (first["target_id"], first["target_iid"], first["target_type"]) == (opened["id"], 1, "MergeRequest")
    assert (first["target_title"], first["author"]["username"], "push_data" in first) == ("Bring feature", "bea", False)
    assert first["project_id"] == here.id


async def test_pushes_are_told_with_their_commits(here: Merging) -> None:
    site = here.site
    tree = site.folder / "tree"
    async with serving(site) as url:
        remote = url.replace("://", f"://root:{site.root.token}@") + f"/{await site.path()}.git"
        before = await git("rev-parse", "HEAD", cwd=tree)
        await new_commit(tree, {"a": "a"}, "One more")
        sha = await new_commit(tree, {"b": "b"}, "The last\n\nbody")
        await git("tag", "v1", cwd=tree)
        await git("push", "-q", remote, "main", cwd=tree)
        await git("push", "-q", remote, "main:refs/heads/same", "v1", cwd=tree)
        await git("push", "-q", remote, ":same", cwd=tree)
        await git("push", "-q", remote, *(f"main:refs/heads/many-{n}" for n in range(4)), cwd=tree)
    found = await events(site, f"/projects/{here.id}/events", action="pushed", sort="asc")
    names = [(one["action_name"], one["push_data"]["ref_type"], one["push_data"]["ref"]) for one in found]
    assert names == [
        ("pushed to", "branch", "main"),
        ("pushed new", "branch", "same"),
        ("pushed new", "tag", "v1"),
        ("deleted", "branch", "same"),
        ("pushed new", "branch", None),
    ]
    push = found[0]["push_data"]
    assert (push["commit_from"], push["commit_to"], push["commit_count"]) == (before, sha, 2)
    assert (push["commit_title"], push["action"], push["ref_count"]) == ("The last", "pushed", None)
    assert found[1]["push_data"]["commit_count"] == 0, "the default branch has them already"
    assert found[2]["push_data"]["commit_title"] == "The last"
    assert found[3]["push_data"]["commit_to"] is None
    assert found[4]["push_data"]["ref_count"] == 4
    assert {one["target_type"] for one in found} == {None}


async def test_projects_are_created_and_members_come_and_go(site: Site) -> None:
    bea = await site.person("bea")
    async with site.client(site.root) as client:
        group = (await client.post("/api/v4/groups", json={"name": "team", "path": "team"})).json()
        made = (await client.post("/api/v4/projects", json={"name": "app", "namespace_id": group["id"]})).json()
        base = f"/api/v4/projects/{made['id']}"
        joined = await client.post(f"{base}/members", json={"user_id": bea.id, "access_level": 10})
        assert joined.status_code == 201
        assert [(one["action_name"], one["author_username"]) for one in await events(site, base[7:] + "/events")] == [
            ("joined", "bea"),
            ("created", "root"),
        ]
        await client.delete(f"{base}/members/{bea.id}")
    names = [one["action_name"] for one in await events(site, base[7:] + "/events")]
    assert names == ["left", "joined", "created"]
    assert await events(site, f"/users/{bea.id}/events", bea) == [], "they see nothing of a project that they left"
    assert len(await events(site, "/users/bea/events")) == 2
    async with site.client(site.root) as client:
        assert (await client.delete(base)).status_code == 202
    assert await events(site, "/users/bea/events") == []


async def test_guests_of_a_private_project_see_who_came_and_nothing_of_its_code(here: Merging) -> None:
    site = here.site
    cid = await site.person("cid", 10)
    async with site.client(site.root) as client:
        dan = await site.person("dan")
        await client.post(f"/api/v4/projects/{here.id}/members", json={"user_id": dan.id, "access_level": 10})
    await here.feature("feature")
    path = f"/projects/{here.id}/events"
    assert {one["action_name"] for one in await events(site, path)} == {"joined", "pushed new", "opened"}
    assert [one["action_name"] for one in await events(site, path, cid)] == ["joined"]
    assert [one["action_name"] for one in await events(site, "/users/root/events", cid)] == []
    async with site.client() as nobody:
        assert (await nobody.get(f"/api/v4{path}")).status_code == 404
        assert (await nobody.get("/api/v4/users/root/events")).json() == []
        assert (await nobody.get("/api/v4/events")).status_code == 401
    await site.set_project(visibility="public")
    async with site.client() as nobody:
        assert len((await nobody.get("/api/v4/users/root/events")).json()) == 2
        assert (await nobody.get("/api/v4/users/nobody/events")).status_code == 404


async def test_python_gitlab_reads_events_with_every_filter(here: Merging) -> None:
    site = here.site
    bea = await site.person("bea", 30)
    await here.feature("one")
    await here.feature("two", who=bea)
    now = site.services.clock()
    async with site.services.database.write() as connection:
        ids = (await connection.execute(select(contribution.c.id).order_by(contribution.c.id))).scalars().all()
        old = update(contribution).where(contribution.c.id == ids[0])
        await connection.execute(old.values(created_at=now - timedelta(days=10)))

    def play(url: str) -> None:
        gl = gitlab.Gitlab(url, private_token=bea.token)
        mine = gl.events.list(get_all=True)
        assert [one.action_name for one in mine] == ["opened"]
        everything = gl.events.list(scope="all", get_all=True)
        assert len(everything) == 4
        project = gl.projects.get(here.id)
        assert [one.id for one in project.events.list(sort="asc", get_all=True)] == ids
        page = project.events.list(per_page=3, page=2)
        assert [one.id for one in page] == ids[:1]
        root = gl.users.list(username="root")[0]
        assert {one.action_name for one in root.events.list(get_all=True)} == {"pushed new", "opened"}
        assert [one.action_name for one in root.events.list(action="pushed", get_all=True)] == ["pushed new"] * 2
        assert root.events.list(target_type="issue", get_all=True) == []
        today = str(now.date())
        week = str((now - timedelta(days=7)).date())
        assert len(project.events.list(after=week, get_all=True)) == 3
        assert [one.id for one in project.events.list(before=week, get_all=True)] == ids[:1]
        assert project.events.list(after=today, get_all=True) == []
        for wrong in ({"action": "invented"}, {"target_type": "thing"}, {"before": "yesterday"}):
            with pytest.raises(gitlab.GitlabHttpError) as caught:
                gl.http_list(f"/projects/{here.id}/events", query_data=wrong)
            assert caught.value.response_code == 400
        gl.session.close()

    async with serving(site) as url:
        await asyncio.to_thread(play, url)


async def test_a_token_that_only_reads_who_it_belongs_to_reads_own_events(site: Site) -> None:
    async with site.client(site.root) as client:
        token = (
            await client.post("/api/v4/user/personal_access_tokens", json={"name": "x", "scopes": ["read_user"]})
        ).json()
    if "token" not in token:
        pytest.fail(str(token))
    async with site.client(Person(site.root.id, "root", token["token"])) as client:
        assert (await client.get("/api/v4/events")).status_code == 200
        assert (await client.get(f"/api/v4/projects/{site.world.project_id}/events")).status_code == 403


async def test_they_are_written_with_what_they_tell_of(here: Merging, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge request whose event cannot be written is not opened."""
    await here.commit("feature", {"a": "a"})

    async def broken(*_: Any) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(contributions, "add", broken)
    body = {"source_branch": "feature", "target_branch": "main", "title": "x"}
    assert (await here.call("POST", "merge_requests", json=body)).status_code == 500
    assert await here.good("GET", "merge_requests") == []
