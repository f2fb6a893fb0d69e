"""Merging over the REST API: by every method, by itself, with GitLab's status codes, whoever dies in between."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from application.merge_requests import merging
from application.pushes import push as pushing
from application.pushes.push import finish_abandoned
from git.writing.ref_transaction import move_refs
from tests.api.v4.merge_requests.merging import BOTH, Merging
from tests.api.v4.site import Site
from tests.fault_point import held_at


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit, and jobs for branches and merge requests."""
    here = Merging(site)
    await here.begin(BOTH)
    return here


async def test_it_is_merged_by_a_commit_and_the_target_gets_its_pipeline(here: Merging) -> None:
    before = await here.git("rev-parse", "main")
    opened = await here.feature("feature")
    merged = (await here.merge(1, should_remove_source_branch=True)).json()
    assert (merged["state"], merged["merge_user"]["username"]) == ("merged", "root")
    sha = await here.git("rev-parse", "main")
    assert merged["merge_commit_sha"] == sha
    assert (await here.git("rev-list", "--parents", "-n1", "main")).split()[1:] == [before, opened["sha"]]
    message = await here.git("log", "-1", "--format=%B", "main")
    assert (
        message
        == f"Merge branch 'feature' into 'main'\n\nBring feature\n\nSee merge request {await here.site.path()}!1"
    )
    last = (await here.all_pipelines())[-1]
    assert (last["source"], last["ref"], last["sha"]) == ("push", "main", sha)
    assert (await here.call("GET", "repository/branches/feature")).status_code == 404
    again = await here.merge(1)
    assert again.status_code == 405
    events = await here.good("GET", "audit_events")
    assert "merge_request_merged" in {event["event_name"] for event in events}


@pytest.mark.parametrize("method", ["merge", "ff"])
async def test_commits_are_squashed(here: Merging, method: str) -> None:
    await here.site.set_project(merge_method=method)
    before = await here.git("rev-parse", "main")
    await here.commit("feature", {"a.txt": "a\n"})
    await here.commit("feature", {"b.txt": "b\n"})
    await here.open("feature")
    merged = (await here.merge(1, squash=True, squash_commit_message="All of it")).json()
    squashed = merged["squash_commit_sha"]
    assert await here.git("log", "-1", "--format=%s %P", squashed) == f"All of it {before}"
    assert await here.git("diff", "--name-only", before, "main") == "a.txt\nb.txt"
    assert (merged["merge_commit_sha"] is None) == (method == "ff")


async def test_a_fast_forward_wants_a_rebase_first(here: Merging) -> None:
    await here.site.set_project(merge_method="ff")
    opened = await here.feature("feature")
    await here.commit("main", {"other": "x\n"})
    assert (await here.get(1))["detailed_merge_status"] == "need_rebase"
    refused = await here.merge(1)
    assert (refused.status_code, refused.json()["message"]) == (422, "Branch cannot be merged")
    assert (await here.call("PUT", "merge_requests/1/rebase")).status_code == 202
    now = await here.get(1)
    assert now["sha"] != opened["sha"]
    assert now["detailed_merge_status"] == "mergeable"
    assert now["head_pipeline"]["sha"] == now["sha"]
    assert (await here.merge(1)).status_code == 200
    assert await here.git("rev-parse", "main") == now["sha"]


async def test_a_rebase_that_conflicts_tells_so(here: Merging) -> None:
    await here.commit("feature", {"README": "mine\n"})
    await here.open("feature")
    await here.commit("main", {"README": "theirs\n"})
    assert (await here.call("PUT", "merge_requests/1/rebase")).status_code == 202
    assert "Rebase failed" in (await here.get(1))["merge_error"]
    refused = await here.merge(1)
    assert (refused.status_code, refused.json()["message"]) == (422, "Branch cannot be merged")
    assert (await here.call("GET", "merge_requests/1/merge_ref")).status_code == 400


async def test_what_stands_in_the_way_is_405(here: Merging) -> None:
    await here.feature("feature", title="Draft: not yet")
    refused = await here.merge(1)
    assert refused.status_code == 405
    assert refused.json()["message"].startswith("405 Method Not Allowed")
    await here.good("PUT", "merge_requests/1", json={"draft": False})
    wrong = await here.merge(1, sha="0" * 40)
    assert wrong.status_code == 409
    assert "SHA does not match HEAD of source branch" in wrong.text
    await here.site.set_project(only_merge_if_pipeline_succeeds=True)
    assert (await here.get(1))["detailed_merge_status"] == "ci_still_running"
    assert (await here.merge(1)).status_code == 405
    await here.play((await here.get(1))["head_pipeline"]["id"], "failed")
    assert (await here.get(1))["detailed_merge_status"] == "ci_must_pass"
    assert (await here.merge(1)).status_code == 405


async def test_who_may_merge_is_said_by_the_protected_branch(here: Merging) -> None:
    ada, bob = await here.site.person("ada", 30), await here.site.person("bob", 20)
    await here.feature("feature")
    assert (await here.merge(1, ada)).status_code == 401
    assert (await here.merge(1, bob)).status_code == 401
    await here.good("PATCH", "protected_branches/main", json={"merge_access_level": 30})
    assert (await here.merge(1, bob)).status_code == 401
    assert (await here.merge(1, ada)).json()["merge_user"]["username"] == "ada"


async def test_approvals_are_needed_and_lost_with_new_commits(here: Merging) -> None:
    ada = await here.site.person("ada", 30)
    await here.good("POST", "approvals", json={"approvals_before_merge": 1})
    await here.feature("feature")
    assert (await here.get(1))["detailed_merge_status"] == "not_approved"
    assert (await here.call("POST", "merge_requests/1/approve")).status_code == 401
    approved = await here.good("POST", "merge_requests/1/approve", ada)
    assert (approved["approved"], approved["approvals_left"], approved["user_has_approved"]) == (True, 0, True)
    assert (await here.call("POST", "merge_requests/1/approve", ada)).status_code == 401
    await here.commit("feature", {"b.txt": "b\n"})
    assert (await here.good("GET", "merge_requests/1/approvals"))["approved_by"] == []
    assert (await here.merge(1)).status_code == 405
    stale = await here.call("POST", "merge_requests/1/approve", ada, json={"sha": "0" * 40})
    assert stale.status_code == 409
    await here.good("POST", "merge_requests/1/approve", ada)
    await here.good("POST", "merge_requests/1/unapprove", ada)
    await here.good("POST", "merge_requests/1/approve", ada)
    assert (await here.merge(1)).status_code == 200


async def test_approvals_are_of_one_target_and_of_the_commits_that_were_seen(here: Merging) -> None:
    ada = await here.site.person("ada", 30)
    await here.good("POST", "approvals", json={"approvals_before_merge": 1})
    await here.git("branch", "stable", "main")
    await here.feature("feature")
    await here.good("POST", "merge_requests/1/approve", ada)
    await here.good("PUT", "merge_requests/1", json={"target_branch": "stable"})
    assert (await here.good("GET", "merge_requests/1/approvals"))["approved_by"] == []
    await here.good("POST", "merge_requests/1/approve", ada)
    await here.good("PUT", "merge_requests/1", json={"state_event": "close"})
    await here.commit("feature", {"b.txt": "b\n"})
    await here.good("PUT", "merge_requests/1", json={"state_event": "reopen"})
    assert (await here.good("GET", "merge_requests/1/approvals"))["approved_by"] == []
    assert (await here.merge(1)).status_code == 405


async def test_a_stranger_makes_no_commit_by_asking_for_the_merged_result(here: Merging) -> None:
    await here.feature("feature")
    await here.site.set_project(visibility="public")
    async with here.site.client() as client:
        base = f"/api/v4/projects/{here.site.world.project_id}/merge_requests/1"
        assert (await client.get(base)).status_code == 200
        assert (await client.get(f"{base}/merge_ref")).status_code == 401


async def test_it_is_merged_by_itself_when_the_pipeline_has_passed(here: Merging) -> None:
    opened = await here.feature("feature")
    set_up = (await here.merge(1, merge_when_pipeline_succeeds=True, merge_commit_message="By itself")).json()
    assert (set_up["state"], set_up["merge_when_pipeline_succeeds"]) == ("opened", True)
    await here.loop.step()
    assert (await here.get(1))["state"] == "opened"
    await here.play(opened["head_pipeline"]["id"])
    await here.loop.step()
    assert (await here.get(1))["state"] == "merged"
    assert await here.git("log", "-1", "--format=%s", "main") == "By itself"


async def test_new_commits_and_people_take_that_back(here: Merging) -> None:
    await here.feature("feature")
    await here.merge(1, auto_merge=True)
    await here.commit("feature", {"b.txt": "b\n"})
    assert not (await here.get(1))["merge_when_pipeline_succeeds"]
    await here.merge(1, auto_merge=True)
    canceled = await here.call("POST", "merge_requests/1/cancel_merge_when_pipeline_succeeds")
    assert (canceled.status_code, canceled.json()["merge_when_pipeline_succeeds"]) == (201, False)
    again = await here.call("POST", "merge_requests/1/cancel_merge_when_pipeline_succeeds")
    assert again.status_code == 409
    await here.play((await here.get(1))["head_pipeline"]["id"])
    await here.loop.step()
    assert (await here.get(1))["state"] == "opened"


async def test_whoever_may_not_merge_any_more_does_not_merge_later(here: Merging) -> None:
    ada = await here.site.person("ada", 40)
    opened = await here.feature("feature")
    assert (await here.merge(1, ada, auto_merge=True)).status_code == 200
    await here.good("PUT", f"members/{ada.id}", json={"access_level": 20})
    await here.play(opened["head_pipeline"]["id"])
    await here.loop.step()
    now = await here.get(1)
    assert (now["state"], now["merge_when_pipeline_succeeds"]) == ("opened", False)
    assert "Auto-merge was canceled" in now["merge_error"]


async def test_commits_that_come_another_way_merge_it(here: Merging) -> None:
    await here.feature("feature")
    await here.good("POST", "repository/branches", json={"branch": "copy", "ref": "feature"})
    await here.commit("copy", {"more.txt": "x\n"})
    await here.open("copy")
    await here.open("copy", "feature")
    assert (await here.merge(2)).status_code == 200
    states = [(await here.get(iid))["state"] for iid in (1, 2, 3)]
    assert states == ["merged", "merged", "opened"]


async def test_two_merges_at_the_same_time_are_two_commits(here: Merging) -> None:
    await here.feature("one")
    await here.feature("two")
    responses = await asyncio.gather(here.merge(1), here.merge(2))
    for iid, response in enumerate(responses, 1):
        if response.status_code == 422:
            assert (await here.merge(iid)).status_code == 200
    states = [(await here.get(iid))["state"] for iid in (1, 2)]
    assert states == ["merged", "merged"]
    files = (await here.git("ls-tree", "--name-only", "main")).split()
    assert {"one.txt", "two.txt"} <= set(files)


async def test_a_push_in_between_is_not_lost(here: Merging, monkeypatch: pytest.MonkeyPatch) -> None:
    await here.feature("feature")
    async with held_at(monkeypatch, merging, "move_permitted", here.merge(1)) as task:
        theirs = await here.commit("main", {"other.txt": "x\n"})
    assert task.result().status_code == 422
    now = await here.get(1)
    assert (now["state"], await here.git("rev-parse", "main")) == ("opened", theirs)
    assert (await here.merge(1)).status_code == 200
    assert "other.txt" in await here.git("ls-tree", "--name-only", "main")


class Killed(BaseException):
    """What nobody catches: the process is gone."""


@pytest.mark.parametrize(("place", "merged"), [("before", False), ("after", True)])
async def test_killed_around_the_move_of_the_target(
    here: Merging, monkeypatch: pytest.MonkeyPatch, place: str, merged: bool
) -> None:
    await here.feature("feature")

    async def dies(*given: Any) -> None:
        if place == "after":
            await move_refs(*given)
        raise Killed

    with monkeypatch.context() as fault:
        fault.setattr(pushing, "move_refs", dies)
        with pytest.raises((Killed, BaseExceptionGroup)):
            await here.merge(1, squash=True)
    assert (await here.get(1))["state"] == "locked"
    await finish_abandoned(here.site.services, all_of_them=True)
    await merging.unlock_abandoned(here.site.services, all_of_them=True)
    now = await here.get(1)
    assert now["state"] == ("merged" if merged else "opened")
    shas = [pipeline["sha"] for pipeline in await here.all_pipelines() if pipeline["ref"] == "main"]
    assert shas == ([await here.git("rev-parse", "main")] if merged else [])
    if not merged:
        assert (await here.merge(1)).status_code == 200
    assert "feature.txt" in await here.git("ls-tree", "--name-only", "main")


async def test_one_that_is_being_merged_is_left_alone_for_a_while(here: Merging) -> None:
    await here.feature("feature")
    assert await merging.unlock_abandoned(here.site.services) == 0
    assert timedelta(minutes=1) < merging.STUCK
