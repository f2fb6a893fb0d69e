"""Links of project runners."""

import asyncio
from typing import Any

import pytest

from models.repositories.runners import runners
from tests.api.v4.site import Site
from tests.fault_point import held_at, side_by_side, somebody_waits_for_a_lock
from tests.waiting import HANGS, eventually

MAINTAINER = 40
Links = tuple[list[str], dict[str, Any]]


@pytest.fixture
async def links(site: Site) -> Links:
    """Addresses of the runners of two projects of one organisation, and a runner of the first one with its token."""
    async with site.client(site.root) as root:
        owner = (await root.get(f"/api/v4/projects/{site.world.project_id}")).json()["namespace"]["id"]
        second = (await root.post("/api/v4/projects", json={"name": "second", "namespace_id": owner})).json()["id"]
        body = {"runner_type": "project_type", "project_id": site.world.project_id}
        made = (await root.post("/api/v4/user/runners", json=body)).json()
    return [f"/api/v4/projects/{key}/runners" for key in (site.world.project_id, second)], made


async def test_a_runner_is_linked_and_unlinked(site: Site, links: Links) -> None:
    (first, second), made = links
    async with site.client(site.root) as client:
        linked = await client.post(second, json={"runner_id": made["id"]})
        again = await client.post(second, data={"runner_id": made["id"]})
        shown = (await client.get(f"/api/v4/runners/{made['id']}")).json()
        left = await client.delete(f"{first}/{made['id']}")
        twice = await client.delete(f"{first}/{made['id']}")
        last = await client.delete(f"{second}/{made['id']}")
        unknown = await client.post(second, json={"runner_id": 9999})
        nothing = await client.post(second, json={})
    assert (linked.status_code, linked.json()["id"], again.status_code) == (201, made["id"], 400)
    assert [item["path"] for item in shown["projects"]] == ["app", "second"]
    assert (left.status_code, twice.status_code, last.status_code) == (204, 404, 403)
    assert last.json()["message"].startswith("403 Forbidden: Only one project associated with the runner")
    missing = "runner_id is missing"
    assert (unknown.status_code, nothing.json()) == (404, {"message": missing, "error": missing})
    await site.world.pipeline("one: {script: x}\n")
    assert (await site.world.request(made["token"])).status_code == 204


async def test_a_runner_is_never_linked_across_organisations(site: Site, links: Links) -> None:
    _, made = links
    async with site.client(site.root) as client:
        other = (await client.post("/api/v4/groups", json={"name": "Other", "path": "other"})).json()["id"]
        foreign = (await client.post("/api/v4/projects", json={"name": "foreign", "namespace_id": other})).json()["id"]
        response = await client.post(f"/api/v4/projects/{foreign}/runners", json={"runner_id": made["id"]})
        shown = (await client.get(f"/api/v4/runners/{made['id']}")).json()
    assert response.status_code == 403
    assert "another organisation" in response.json()["message"]
    assert [item["path"] for item in shown["projects"]] == ["app"]


async def test_a_locked_runner_stays_with_its_projects(site: Site, links: Links) -> None:
    (_, second), made = links
    async with site.client(site.root) as client:
        await client.put(f"/api/v4/runners/{made['id']}", json={"locked": True})
        locked = await client.post(second, json={"runner_id": made["id"]})
        await client.put(f"/api/v4/runners/{made['id']}", json={"locked": False})
        free = await client.post(second, json={"runner_id": made["id"]})
    assert (locked.status_code, free.status_code) == (403, 201)
    assert "Runner is locked" in locked.json()["message"]


async def test_a_runner_keeps_one_project_whoever_unlinks_it_at_the_same_moment(
    site: Site, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    side_by_side(site.services.database)
    (first, second), made = links
    async with site.client(site.root) as client:
        await client.post(second, json={"runner_id": made["id"]})
        async with held_at(monkeypatch, runners, "unlink", client.delete(f"{first}/{made['id']}")) as one:
            other = asyncio.create_task(client.delete(f"{second}/{made['id']}"))
            await eventually(lambda: somebody_waits_for_a_lock(site.services.database), "the other one waits")
        shown = (await client.get(f"/api/v4/runners/{made['id']}")).json()
        assert ((await one).status_code, (await other).status_code) == (204, 403)
    assert [item["path"] for item in shown["projects"]] == ["second"]


async def test_a_waiting_runner_gets_the_job_of_a_project_that_it_is_linked_to(site: Site, links: Links) -> None:
    (first, second), _ = links
    await site.world.pipeline("one: {script: x}\n")
    async with site.client(site.root) as client:
        body = {"runner_type": "project_type", "project_id": second.split("/")[-2]}
        other = (await client.post("/api/v4/user/runners", json=body)).json()
        value = (await site.world.request(other["token"])).headers["X-GitLab-Last-Update"]
        poll = asyncio.create_task(site.world.request(other["token"], last_update=value))
        await eventually(lambda: site.polls(1), "the runner waits")
        await client.post(first, json={"runner_id": other["id"]})
        assert (await asyncio.wait_for(poll, HANGS)).status_code == 201


async def test_one_sees_only_those_projects_of_a_runner_in_which_one_is_a_member(site: Site, links: Links) -> None:
    (_, second), made = links
    async with site.client(site.root) as client:
        await client.post(second, json={"runner_id": made["id"]})
    async with site.client(await site.person("maint", MAINTAINER)) as client:
        shown = (await client.get(f"/api/v4/runners/{made['id']}")).json()
        refused = await client.post(second, json={"runner_id": made["id"]})
    assert [item["path"] for item in shown["projects"]] == ["app"]
    assert refused.status_code == 404
