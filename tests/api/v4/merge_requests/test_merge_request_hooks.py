"""Merge requests as webhooks hear of them: every news of one, by real deliveries to a real receiver."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from models.columns import table_of
from models.tables.hooks import HookEvent
from tests.activities.receiver import NETWORK, Receiver, receiving
from tests.api.v4.hooks.delivering import told, until
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site, open_site, serving
from tests.git.serving import git


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation that may reach the receivers of tests."""
    async with open_site(tmp_path, database_url, outbound_networks=NETWORK) as opened:
        yield opened


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit."""
    here = Merging(site)
    await here.begin()
    return here


async def hook(here: Merging, receiver: Receiver, **more: Any) -> int:
    """A hook that hears of merge requests only."""
    body = {"url": receiver.url, "push_events": False, "merge_requests_events": True, **more}
    return int((await here.good("POST", "hooks", json=body))["id"])


async def test_one_is_told_from_its_opening_to_its_merge(here: Merging) -> None:
    bea = await here.site.person("bea", 30)
    async with receiving() as receiver, told(here.site):
        await hook(here, receiver)
        opened = await here.feature("feature", labels="one", assignee_id=bea.id)
        await until(receiver, 1)
        first = opened["sha"]
        changed = {"title": "Better", "labels": "one,two", "assignee_ids": [], "reviewer_ids": [bea.id]}
        await here.good("PUT", "merge_requests/1", json=changed)
        await until(receiver, 2)
        second = await here.commit("feature", {"more.txt": "more\n"})
        await until(receiver, 3)
        await here.good("PUT", "merge_requests/1", json={"state_event": "close"})
        await until(receiver, 4)
        await here.good("PUT", "merge_requests/1", json={"state_event": "reopen"})
        await until(receiver, 5)
        assert (await here.merge(1)).status_code == 200
        await until(receiver, 6)
    assert receiver.kinds() == ["Merge Request Hook"] * 6
    opening, updating, pushing, closing, reopening, merging = (one.body for one in receiver.got)
    actions = [one.body["object_attributes"]["action"] for one in receiver.got]
    assert actions == ["open", "update", "update", "close", "reopen", "merge"]

    mine = opening["object_attributes"]
    assert (opening["object_kind"], opening["event_type"], opening["user"]["username"]) == (
        "merge_request",
        "merge_request",
        "root",
    )
    assert (mine["id"], mine["iid"], mine["source_branch"], mine["target_branch"]) == (
        opened["id"],
        1,
        "feature",
        "main",
    )
    assert (mine["state"], mine["state_id"], mine["draft"], mine["merge_commit_sha"]) == ("opened", 1, False, None)
    assert (mine["assignee_ids"], mine["assignee_id"], mine["reviewer_ids"]) == ([bea.id], bea.id, [])
    assert (mine["last_commit"]["id"], mine["last_commit"]["title"]) == (first, "Change")
    assert mine["last_commit"]["url"].endswith(f"/-/commit/{first}")
    assert mine["url"].endswith("/-/merge_requests/1")
    assert mine["source"]["id"] == mine["target"]["id"] == opening["project"]["id"] == here.id
    assert [one["title"] for one in opening["labels"]] == [one["title"] for one in mine["labels"]] == ["one"]
    assert [one["username"] for one in opening["assignees"]] == ["bea"]
    assert (opening["reviewers"], opening["changes"], "oldrev" in mine) == ([], {}, False)

    assert updating["changes"]["title"] == {"previous": "Bring feature", "current": "Better"}
    assert [one["title"] for one in updating["changes"]["labels"]["current"]] == ["one", "two"]
    assert [one["username"] for one in updating["changes"]["assignees"]["previous"]] == ["bea"]
    assert updating["changes"]["assignees"]["current"] == []
    assert [one["id"] for one in updating["changes"]["reviewers"]["current"]] == [bea.id]
    assert set(updating["changes"]) == {"title", "labels", "assignees", "reviewers", "updated_at"}

    assert pushing["object_attributes"]["oldrev"] == first
    assert pushing["object_attributes"]["last_commit"]["id"] == second
    assert closing["changes"]["state_id"] == {"previous": 1, "current": 2}
    assert (closing["object_attributes"]["state"], closing["object_attributes"]["detailed_merge_status"]) == (
        "closed",
        "not_open",
    )
    assert reopening["object_attributes"]["state"] == "opened"
    done = merging["object_attributes"]
    assert (done["state"], done["state_id"], done["merge_commit_sha"]) == (
        "merged",
        3,
        await here.git("rev-parse", "main"),
    )
    assert merging["changes"]["state_id"] == {"previous": 4, "current": 3}


async def test_approvals_are_told_one_by_one_and_taken_away_by_a_push(here: Merging) -> None:
    bea, cid = await here.site.person("bea", 30), await here.site.person("cid", 30)
    await here.good("POST", "approvals", json={"approvals_before_merge": 2})
    await here.feature("feature")
    async with receiving() as receiver, told(here.site):
        await hook(here, receiver)
        for number, (who, verb) in enumerate(
            [(bea, "approve"), (cid, "approve"), (cid, "unapprove"), (bea, "unapprove"), (bea, "approve")]
        ):
            await here.good("POST", f"merge_requests/1/{verb}", who, json={})
            await until(receiver, number + 1)
        await here.commit("feature", {"more.txt": "more\n"})
        await until(receiver, 7)
    attributes = [one.body["object_attributes"] for one in receiver.got]
    actions = [one["action"] for one in attributes[:5]]
    assert actions == ["approval", "approved", "unapproved", "unapproval", "approval"]
    assert [one.body["user"]["username"] for one in receiver.got] == ["bea", "cid", "cid", "bea", "bea", "root", "root"]
    pushed = {one["action"]: one for one in attributes[5:]}
    assert set(pushed) == {"update", "unapproval"}
    assert pushed["unapproval"]["system"] is True
    assert pushed["unapproval"]["system_action"] == "approvals_reset_on_push"
    assert attributes[0]["detailed_merge_status"] == "not_approved"


async def test_what_git_does_to_one_is_told_too(here: Merging) -> None:
    site = here.site
    await here.feature("gone")
    landed = (await here.feature("landed"))["sha"]
    tree = site.folder / "tree"
    async with receiving() as receiver, serving(site) as url, told(site):
        await hook(here, receiver)
        remote = url.replace("://", f"://root:{site.root.token}@") + f"/{await site.path()}.git"
        await git("push", "-q", remote, ":gone", cwd=tree)
        await until(receiver, 1)
        await git("fetch", "-q", remote, "landed", cwd=tree)
        await git("push", "-q", remote, "FETCH_HEAD:refs/heads/main", cwd=tree)
        await until(receiver, 2)
    closing, merging = (one.body["object_attributes"] for one in receiver.got)
    assert (closing["action"], closing["source_branch"], closing["state"]) == ("close", "gone", "closed")
    assert (merging["action"], merging["source_branch"], merging["state"]) == ("merge", "landed", "merged")
    assert merging["last_commit"]["id"] == landed
    assert receiver.got[1].body["changes"]["state_id"] == {"previous": 1, "current": 3}


async def test_one_of_a_fork_names_both_projects(here: Merging) -> None:
    cid = await here.site.person("cid", 20)
    fork = await here.good("POST", "fork", cid, json={})
    async with receiving() as receiver, told(here.site):
        await hook(here, receiver)
        await here.commit("theirs", {"theirs.txt": "theirs\n"}, cid, project=fork["id"])
        await here.open("theirs", who=cid, project=fork["id"], target_project_id=here.id)
        await until(receiver, 1)
    mine = receiver.got[0].body["object_attributes"]
    assert (mine["source_project_id"], mine["target_project_id"]) == (fork["id"], here.id)
    assert mine["source"]["path_with_namespace"] == fork["path_with_namespace"]
    assert mine["last_commit"]["url"].startswith(mine["source"]["web_url"])


async def test_a_test_tells_of_the_newest_one_without_an_action(here: Merging) -> None:
    async with receiving() as receiver, told(here.site):
        key = await hook(here, receiver)
        none = await here.call("POST", f"hooks/{key}/test/merge_requests_events")
        assert (none.status_code, none.json()["message"]) == (400, "Ensure the project has merge requests.")
        await here.feature("feature")
        await until(receiver, 1)
        await here.good("POST", f"hooks/{key}/test/merge_requests_events")
    shown = receiver.got[-1].body["object_attributes"]
    assert (shown["iid"], "action" in shown) == (1, False)


async def test_nothing_is_noted_where_nobody_listens(here: Merging) -> None:
    await here.feature("feature")
    assert (await here.merge(1)).status_code == 200
    assert await here.rows(table_of(HookEvent)) == []
