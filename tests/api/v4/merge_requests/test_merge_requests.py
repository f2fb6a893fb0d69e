"""Merge requests over the REST API: opened, shown, changed, followed when their branches move."""

from typing import Any

import pytest

from tests.api.v4.merge_requests.merging import CONFIG, Merging
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit."""
    here = Merging(site)
    await here.begin()
    return here


async def test_one_is_opened_with_its_pipeline(here: Merging) -> None:
    sha = await here.commit("feature", {"a.txt": "a\n"})
    opened = await here.open("feature", labels="one,two", description="why", squash=True)
    assert (opened["iid"], opened["state"], opened["sha"]) == (1, "opened", sha)
    assert (opened["labels"], opened["squash"], opened["changes_count"]) == (["one", "two"], True, "1")
    assert opened["references"]["full"] == f"{await here.site.path()}!1"
    assert (opened["merge_status"], opened["detailed_merge_status"]) == ("can_be_merged", "mergeable")
    main = await here.git("rev-parse", "main")
    assert opened["diff_refs"] == {"base_sha": main, "head_sha": sha, "start_sha": main}
    pipeline = opened["head_pipeline"]
    assert (pipeline["source"], pipeline["ref"], pipeline["sha"]) == (
        "merge_request_event",
        "refs/merge-requests/1/head",
        sha,
    )
    assert [one["id"] for one in await here.pipelines(1)] == [pipeline["id"]]
    assert await here.git("rev-parse", "refs/merge-requests/1/head") == sha


@pytest.mark.parametrize(
    ("option", "wishes", "squashed"),
    [
        ("default_on", {}, True),
        ("default_on", {"squash": False}, False),
        ("default_off", {}, False),
        ("always", {"squash": False}, True),
        ("never", {"squash": True}, False),
    ],
)
async def test_the_project_says_whether_it_is_squashed(
    here: Merging, option: str, wishes: dict[str, Any], squashed: bool
) -> None:
    await here.commit("feature", {"a.txt": "a\n"})
    async with here.site.client(here.site.root) as client:
        changed = await client.put(f"/api/v4/projects/{here.id}", json={"squash_option": option})
    assert changed.json()["squash_option"] == option
    assert (await here.open("feature", **wishes))["squash"] is squashed


async def test_no_pipeline_where_no_job_is_for_merge_requests(site: Site) -> None:
    here = Merging(site)
    await here.begin("test: {script: make}\n")
    opened = await here.feature("feature")
    assert opened["head_pipeline"]["source"] == "push"
    assert [one["source"] for one in await here.pipelines(1)] == ["push"]


async def test_its_contents_are_shown(here: Merging) -> None:
    await here.commit("feature", {"a.txt": "a\n"}, message="First")
    await here.commit("feature", {"b.txt": "b\n"}, message="Second")
    await here.open("feature")
    commits = await here.good("GET", "merge_requests/1/commits")
    assert [commit["title"] for commit in commits] == ["Second", "First"]
    assert {file["new_path"] for file in await here.good("GET", "merge_requests/1/diffs")} == {"a.txt", "b.txt"}
    changes = await here.good("GET", "merge_requests/1/changes")
    assert [file["diff"] for file in changes["changes"]] == ["@@ -0,0 +1 @@\n+a\n", "@@ -0,0 +1 @@\n+b\n"]


async def test_new_commits_get_a_pipeline_and_those_of_others_are_stale(here: Merging) -> None:
    await here.feature("feature")
    first = (await here.get(1))["head_pipeline"]["id"]
    sha = await here.commit("feature", {"more.txt": "more\n"})
    now = await here.get(1)
    assert now["sha"] == sha
    assert now["head_pipeline"]["id"] > first
    assert len(await here.pipelines(1)) == 2
    await here.commit("main", {"other.txt": "other\n"})
    assert len(await here.pipelines(1)) == 2
    assert (await here.get(1))["merge_status"] == "can_be_merged"


async def test_conflicts_are_seen_when_the_target_moves(here: Merging) -> None:
    await here.commit("feature", {"README": "mine\n"})
    opened = await here.open("feature")
    assert not opened["has_conflicts"]
    await here.commit("main", {"README": "theirs\n"})
    now = await here.get(1)
    assert (now["has_conflicts"], now["merge_status"], now["detailed_merge_status"]) == (
        True,
        "cannot_be_merged",
        "conflict",
    )


async def test_a_pushed_skip_is_honoured(here: Merging) -> None:
    await here.feature("feature")
    await here.commit("feature", {"b.txt": "b\n"}, message="Change [ci skip]")
    assert (await here.get(1))["head_pipeline"]["status"] == "skipped"


async def test_only_one_may_be_open_for_the_same_branches(here: Merging) -> None:
    await here.feature("feature")

    async def refused(source: str, **more: str) -> tuple[int, str]:
        body = {"source_branch": source, "target_branch": "main", "title": "x", **more}
        response = await here.call("POST", "merge_requests", json=body)
        return response.status_code, told_faults(response)

    assert await refused("feature") == (
        409,
        "Another open merge request already exists for this source branch: !1",
    )
    assert await refused("main") == (422, "You can't use same project/branch for source and target")
    assert await refused("no") == (400, "source_branch is invalid: there is no branch 'no'")
    assert await refused("feature", target_branch="no") == (400, "target_branch is invalid: there is no branch 'no'")
    missing = await here.call("POST", "merge_requests", json={"source_branch": "feature"})
    assert "title is missing" in missing.text


async def test_it_is_closed_reopened_and_follows_its_branch(here: Merging) -> None:
    await here.feature("feature")
    closed = await here.good("PUT", "merge_requests/1", json={"state_event": "close"})
    assert (closed["state"], closed["closed_by"]["username"]) == ("closed", "root")
    sha = await here.commit("feature", {"b.txt": "b\n"})
    assert len(await here.pipelines(1)) == 1
    opened = await here.good("PUT", "merge_requests/1", json={"state_event": "reopen"})
    assert (opened["state"], opened["sha"], opened["closed_at"]) == ("opened", sha, None)
    assert opened["head_pipeline"]["sha"] == sha
    await here.good("DELETE", "repository/branches/feature")
    assert (await here.get(1))["state"] == "closed"
    gone = await here.call("PUT", "merge_requests/1", json={"state_event": "reopen"})
    assert gone.status_code == 422


async def test_it_is_changed(here: Merging) -> None:
    await here.feature("feature")
    await here.commit("stable", {"s.txt": "s\n"})
    changed = await here.good(
        "PUT", "merge_requests/1", json={"title": "Draft: later", "add_labels": "a,b", "target_branch": "stable"}
    )
    assert (changed["draft"], changed["labels"], changed["target_branch"]) == (True, ["a", "b"], "stable")
    assert changed["detailed_merge_status"] == "draft_status"
    ready = await here.good("PUT", "merge_requests/1", json={"draft": False, "remove_labels": "a"})
    assert (ready["title"], ready["labels"]) == ("later", ["b"])
    assert await here.good("DELETE", "merge_requests/1") is None
    assert (await here.call("GET", "merge_requests/1")).status_code == 404


async def test_lists_are_narrowed(here: Merging) -> None:
    ada = await here.site.person("ada", 30)
    await here.commit("one", {"1": "1"}, ada)
    await here.commit("two", {"2": "2"})
    await here.open("one", who=ada, labels="red")
    await here.open("two", title="Draft: two")

    async def iids(path: str) -> list[int]:
        return [item["iid"] for item in await here.good("GET", f"merge_requests?{path}")]

    assert await iids("") == [2, 1]
    assert await iids("sort=asc") == [1, 2]
    assert await iids("author_username=ada") == [1]
    assert await iids("labels=red") == [1]
    assert await iids("labels=None") == [2]
    assert await iids("source_branch=two") == [2]
    assert await iids("wip=yes") == [2]
    assert await iids("search=bring") == [1]
    assert await iids("iids[]=2") == [2]
    assert await iids("state=closed") == []
    async with here.site.client(ada) as client:
        mine = (await client.get("/api/v4/merge_requests")).json()
        everything = (await client.get("/api/v4/merge_requests?scope=all")).json()
    assert ([item["iid"] for item in mine], len(everything)) == ([1], 2)
    stranger = await here.site.person("eve")
    async with here.site.client(stranger) as client:
        assert (await client.get("/api/v4/merge_requests?scope=all")).json() == []
        assert (await client.get(f"/api/v4/projects/{here.id}/merge_requests/1")).status_code == 404


async def test_git_cannot_write_the_refs_of_merge_requests(here: Merging) -> None:
    await here.feature("feature")
    before = await here.git("for-each-ref", "refs/merge-requests")
    path = here.site.services.repositories.path(here.id)
    with pytest.raises(AssertionError, match="deny updating a hidden ref"):
        await here.git("push", str(path), "main:refs/merge-requests/1/head")
    assert await here.git("for-each-ref", "refs/merge-requests") == before


async def test_branch_pipelines_know_the_open_merge_requests(site: Site) -> None:
    here = Merging(site)
    config = CONFIG + "\nbranch: {script: x, rules: [{if: '$CI_COMMIT_BRANCH && $CI_OPEN_MERGE_REQUESTS'}]}\n"
    await here.begin(config)
    await here.commit("feature", {"a.txt": "a\n"})
    assert await here.all_pipelines() == []
    await here.open("feature")
    await here.commit("feature", {"b.txt": "b\n"})
    found = [pipeline["source"] for pipeline in await here.all_pipelines()]
    assert sorted(found) == ["merge_request_event", "merge_request_event", "push"]
    (pushed,) = [pipeline for pipeline in await here.all_pipelines() if pipeline["source"] == "push"]
    job = await here.job_of(pushed["id"])
    variables = {item["key"]: item["value"] for item in job["variables"]}
    assert variables["CI_OPEN_MERGE_REQUESTS"] == f"{await site.path()}!1"
