"""Labels and milestones of projects and groups, and what merge requests have of them."""

import httpx
import pytest

from models.repositories.merge_requests.merge_request_notes import note
from models.repositories.merge_requests.merge_request_versions import version
from models.repositories.projects.labels import label
from models.repositories.projects.milestones import milestone
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with an open merge request."""
    here = Merging(site)
    await here.begin()
    await here.feature("feature")
    return here


async def of_group(here: Merging, method: str, path: str, **body: str) -> httpx.Response:
    """A call below the group that the project lies in."""
    async with here.site.client(here.site.root) as client:
        project = (await client.get(f"/api/v4/projects/{here.id}")).json()
        return await client.request(method, f"/api/v4/groups/{project['namespace']['id']}/{path}", json=body)


async def test_labels_are_added_changed_and_removed_with_merge_requests_following(here: Merging) -> None:
    bob, eve = await here.site.person("bob", 20), await here.site.person("eve", 0)
    new = {"name": "needs work", "color": "red", "description": "more to do", "priority": 2}
    label = await here.good("POST", "labels", bob, json=new)
    assert (label["color"], label["text_color"], label["priority"]) == ("#ff0000", "#FFFFFF", 2)
    assert (label["is_project_label"], label["description"]) == (True, "more to do")
    again = await here.call("POST", "labels", bob, json=new)
    assert (again.status_code, again.json()) == (409, {"message": "Label already exists"})
    for wrong, word in (({"color": "reddish"}, "color"), ({"name": "a,b"}, "name")):
        refused = await here.call("POST", "labels", bob, json={**new, **wrong})
        assert (refused.status_code, f"{word} is invalid" in told_faults(refused)) == (400, True)
    await here.site.set_project(visibility="public")
    assert (await here.call("POST", "labels", eve, json={**new, "name": "x"})).status_code == 403
    assert [one["name"] for one in await here.good("GET", "labels", eve)] == ["needs work"]
    await here.good("PUT", "merge_requests/1", json={"labels": "needs work,other"})
    (_, counted) = sorted(await here.good("GET", "labels?with_counts=true"), key=lambda one: one["name"], reverse=True)
    assert (counted["name"], counted["open_merge_requests_count"]) == ("needs work", 1)
    renamed = await here.good("PUT", "labels/needs%20work", json={"new_name": "a/b"})
    assert (renamed["name"], (await here.get(1))["labels"]) == ("a/b", ["a/b", "other"])
    assert (await here.good("PUT", "labels", json={"name": "a/b", "color": "#abc"}))["color"] == "#abc"
    assert (await here.good("GET", f"labels/{label['id']}")) == (await here.good("GET", "labels/a%2Fb"))
    assert (await here.call("DELETE", "labels/a%2Fb")).status_code == 204
    assert (await here.get(1))["labels"] == ["other"]
    assert (await here.call("GET", "labels/a%2Fb")).json() == {"message": "404 Label Not Found"}


async def test_labels_of_a_group_count_in_its_projects(here: Merging) -> None:
    made = await of_group(here, "POST", "labels", name="team", color="#00ff00")
    assert (made.status_code, made.json()["is_project_label"]) == (201, False)
    assert [one["name"] for one in await here.good("GET", "labels")] == ["team"]
    assert await here.good("GET", "labels?include_ancestor_groups=false") == []
    assert (await here.call("POST", "labels", json={"name": "team", "color": "red"})).status_code == 409
    assert (await here.call("DELETE", "labels/team")).status_code == 404
    await here.good("PUT", "merge_requests/1", json={"add_labels": "team,new"})
    assert [(one["name"], one["color"]) for one in await here.good("GET", "labels")] == [
        ("new", "#6699cc"),
        ("team", "#00ff00"),
    ]
    assert (await of_group(here, "PUT", "labels/team", new_name="crew")).status_code == 200
    assert (await here.get(1))["labels"] == ["crew", "new"]


async def test_a_label_is_made_only_by_those_who_may(here: Merging) -> None:
    await here.site.set_project(visibility="public")
    bob = await here.site.person("bob", 30)
    await here.commit("bobs", {"b.txt": "b\n"}, bob)
    opened = await here.open("bobs", who=bob, labels="mine")
    await here.good("DELETE", f"members/{bob.id}")
    changed = await here.good("PUT", f"merge_requests/{opened['iid']}", bob, json={"add_labels": "other"})
    assert changed["labels"] == ["mine"]
    assert [one["name"] for one in await here.good("GET", "labels")] == ["mine"]


async def test_milestones_are_planned_closed_and_removed(here: Merging) -> None:
    bob = await here.site.person("bob", 20)
    days = {"start_date": "2020-01-01", "due_date": "2020-01-31"}
    plan = await here.good("POST", "milestones", bob, json={"title": "1.0", "description": "first", **days})
    assert (plan["iid"], plan["state"], plan["expired"], plan["project_id"]) == (1, "active", True, here.id)
    assert plan["web_url"].endswith("/-/milestones/1")
    assert (await here.call("POST", "milestones", json={"title": "1.0"})).status_code == 400
    backwards = await here.call("PUT", f"milestones/{plan['id']}", json={"due_date": "2019-01-01"})
    assert (backwards.status_code, "due_date is invalid" in told_faults(backwards)) == (400, True)
    changed = await here.good("PUT", "merge_requests/1", json={"milestone_id": plan["id"]})
    assert changed["milestone"] == plan
    for query, found in (("1.0", [1]), ("Any", [1]), ("None", []), ("2.0", [])):
        assert [one["iid"] for one in await here.good("GET", f"merge_requests?milestone={query}")] == found
    assert [one["iid"] for one in await here.good("GET", f"milestones/{plan['id']}/merge_requests")] == [1]
    pipeline = await here.good("POST", "merge_requests/1/pipelines")
    job = await here.job_of(pipeline["id"])
    told = {one["key"]: one["value"] for one in job["variables"]}
    assert told["CI_MERGE_REQUEST_MILESTONE"] == "1.0"
    closed = await here.good("PUT", f"milestones/{plan['id']}", json={"state_event": "close"})
    assert closed["state"] == "closed"
    assert [one["title"] for one in await here.good("GET", "milestones?state=closed&iids[]=1")] == ["1.0"]
    assert (await here.call("DELETE", f"milestones/{plan['id']}")).status_code == 204
    assert (await here.get(1))["milestone"] is None


async def test_milestones_of_a_group_count_in_its_projects(here: Merging) -> None:
    made = (await of_group(here, "POST", "milestones", title="2026")).json()
    assert await here.good("GET", "milestones") == []
    assert await here.good("GET", "milestones?include_ancestors=true") == [made]
    await here.good("PUT", "merge_requests/1", json={"milestone_id": made["id"]})
    assert (await here.get(1))["milestone"] == made
    listed = await of_group(here, "GET", f"milestones/{made['id']}/merge_requests")
    assert [one["iid"] for one in listed.json()] == [1]
    assert (await here.good("PUT", "merge_requests/1", json={"milestone_id": 0}))["milestone"] is None
    foreign = await here.call("PUT", "merge_requests/1", json={"milestone_id": 999_999})
    assert (foreign.status_code, "milestone_id is invalid" in told_faults(foreign)) == (400, True)


async def test_all_of_it_goes_with_its_project_and_group(site: Site) -> None:
    here = Merging(site)
    async with site.client(site.root) as client:
        group = (await client.post("/api/v4/groups", json={"name": "g", "path": "g"})).json()
        made = await client.post("/api/v4/projects", json={"name": "p", "namespace_id": group["id"]})
        here.id = made.json()["id"]
        await here.commit("main", {"a.txt": "a\n"})
        await here.feature("feature", labels="one")
        await here.good("POST", "merge_requests/1/discussions", json={"body": "Why?"})
        plan = await client.post(f"/api/v4/groups/{group['id']}/milestones", json={"title": "1.0"})
        await here.good("PUT", "merge_requests/1", json={"milestone_id": plan.json()["id"]})
        await here.good("POST", "milestones", json={"title": "2.0"})
        await client.post(f"/api/v4/groups/{group['id']}/labels", json={"name": "team", "color": "red"})
        assert (await client.delete(f"/api/v4/projects/{here.id}")).is_success
        for table, left in ((note, 0), (version, 0), (label, 1), (milestone, 1)):
            assert len(await here.rows(table)) == left, table.name
        assert (await client.delete(f"/api/v4/groups/{group['id']}")).is_success
    assert [await here.rows(table) for table in (label, milestone)] == [[], []]
