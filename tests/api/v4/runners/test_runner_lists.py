"""Lists of runners: what narrows them, and the pages that they make."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from domain.runners.status import Connection
from models.clock import system_clock
from models.repositories.runners import runners
from tests.api.v4.site import Site

MAINTAINER = 40


@pytest.fixture
async def fleet(site: Site) -> dict[str, int]:
    """Runners by name: of every connection status, with tags and versions."""
    now = system_clock()
    wishes: dict[str, dict[str, Any]] = {
        "fresh": {},
        "online": {"contacted_at": now - timedelta(minutes=1), "tags": ["linux", "x64"]},
        "offline": {"contacted_at": now - timedelta(days=1), "tags": ["linux", 'a"b%']},
        "stale": {"contacted_at": now - timedelta(days=8), "paused": True},
        "forgotten": {"created_at": now - timedelta(days=30), "description": "100% old"},
    }
    keys = {}
    async with site.services.database.write() as connection:
        await runners.remove(connection, site.world.runner_id)
        for name, values in wishes.items():
            keys[name] = await runners.create(connection, f"hash of {name}", now, description=name)
            await runners.change(connection, keys[name], **values)
    return keys


async def named(site: Site, fleet: Mapping[str, int], path: str = "/api/v4/runners/all", **query: Any) -> list[str]:
    """The names of the runners that a list of root's shows."""
    async with site.client(site.root) as client:
        response = await client.get(path, params=query)
    assert response.status_code == 200, response.text
    names = {key: name for name, key in fleet.items()}
    return [names[item["id"]] for item in response.json()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["forgotten", "stale", "offline", "online", "fresh"]),
        ({"status": "online"}, ["online"]),
        ({"status": "offline"}, ["offline"]),
        ({"status": "stale"}, ["forgotten", "stale"]),
        ({"status": "never_contacted"}, ["fresh"]),
        ({"status": "paused"}, ["stale"]),
        ({"scope": "active", "status": "stale"}, ["forgotten"]),
        ({"paused": "false", "status": "offline"}, ["offline"]),
        ({"paused": "true"}, ["stale"]),
        ({"tag_list": "linux"}, ["offline", "online"]),
        ({"tag_list": "linux,x64"}, ["online"]),
        ({"tag_list[]": 'a"b%'}, ["offline"]),
        ({"tag_list": "inux"}, []),
        ({"search": "LINE"}, ["offline", "online"]),
        ({"search": "0%"}, ["forgotten"]),
        ({"type": "instance_type", "per_page": 2, "page": 2}, ["offline", "online"]),
        ({"type": "project_type"}, []),
        ({"scope": "shared", "search": "fresh"}, ["fresh"]),
        ({"organization_id": 1}, []),
    ],
)
async def test_a_list_is_narrowed(
    site: Site, fleet: dict[str, int], query: dict[str, Any], expected: list[str]
) -> None:
    assert await named(site, fleet, **query) == expected


@pytest.mark.parametrize("query", [{"status": "sleepy"}, {"type": "shared"}, {"search": "a\0b"}, {"paused": "perhaps"}])
async def test_a_strange_wish_is_refused(site: Site, query: dict[str, Any]) -> None:
    async with site.client(site.root) as client:
        response = await client.get("/api/v4/runners/all", params=query)
    assert (response.status_code, "message" in response.json()) == (400, True)


async def test_the_status_shown_is_the_status_asked_for(site: Site, fleet: dict[str, int]) -> None:
    async with site.client(site.root) as client:
        everyone = (await client.get("/api/v4/runners/all")).json()
        for status in Connection:
            found = (await client.get("/api/v4/runners/all", params={"status": status})).json()
            assert found == [item for item in everyone if item["status"] == status], status


async def test_a_runner_with_a_job_is_online_however_long_it_did_not_ask(site: Site) -> None:
    await site.world.pipeline("one: {script: x}\n")
    await site.world.job()
    async with site.services.database.write() as connection:
        await runners.change(connection, site.world.runner_id, contacted_at=system_clock() - timedelta(days=9))
    async with site.client(site.root) as client:
        (shown,) = (await client.get("/api/v4/runners/all", params={"status": "online"})).json()
        assert (await client.get("/api/v4/runners/all", params={"status": "stale"})).json() == []
        (job,) = (await client.get(f"/api/v4/projects/{site.world.project_id}/jobs")).json()
    assert (shown["status"], shown["online"], shown["job_execution_status"]) == ("online", True, "running")
    assert {**job["runner"], "tag_list": []} == shown


async def test_versions_are_looked_for_by_their_beginning(site: Site, fleet: dict[str, int]) -> None:
    async with site.client(site.root) as client:
        body = {"runner_type": "instance_type", "description": "of 18.10"}
        made = (await client.post("/api/v4/user/runners", json=body)).json()
        fleet["new"] = made["id"]
        await client.post("/api/v4/runners/verify", json={"token": made["token"], "info": {"version": "18.10.1"}})
    assert await named(site, fleet, version_prefix="18.1") == ["new"]
    assert await named(site, fleet, version_prefix="8") == []
    assert await named(site, fleet, version_prefix="1_") == []


async def test_administrators_list_the_runners_of_one_organisation(site: Site) -> None:
    async with site.client(site.root) as client:
        project = (await client.get(f"/api/v4/projects/{site.world.project_id}")).json()
        mine = project["namespace"]["id"]
        other = (await client.post("/api/v4/groups", json={"name": "Other", "path": "other"})).json()["id"]
        made = {}
        for name, body in (
            ("project", {"runner_type": "project_type", "project_id": project["id"]}),
            ("group", {"runner_type": "group_type", "group_id": mine}),
            ("foreign", {"runner_type": "group_type", "group_id": other}),
        ):
            made[name] = (await client.post("/api/v4/user/runners", json=body)).json()["id"]
        listed = (await client.get("/api/v4/runners/all", params={"organization_id": mine})).json()
        foreign = (await client.get("/api/v4/runners/all", params={"organization_id": other})).json()
        available = (await client.get(f"/api/v4/projects/{project['id']}/runners")).json()
        mine_only = (
            await client.get(f"/api/v4/projects/{project['id']}/runners", params={"type": "project_type"})
        ).json()
    assert [item["id"] for item in listed] == [made["group"], made["project"]]
    assert [item["id"] for item in foreign] == [made["foreign"]]
    assert [item["id"] for item in available] == [made["group"], made["project"], site.world.runner_id]
    assert [item["id"] for item in mine_only] == [made["project"]]


async def test_the_jobs_of_a_runner_are_those_of_projects_that_one_may_read(site: Site) -> None:
    await site.world.pipeline("one: {script: x}\ntwo: {script: x}\n")
    first = await site.world.job()
    await site.world.put(first, "success", b"")
    second = await site.world.job()
    path = f"/api/v4/runners/{site.world.runner_id}/jobs"
    async with site.client(site.root) as client:
        everything = (await client.get(path)).json()
        rising = (await client.get(path, params={"order_by": "id", "sort": "asc"})).json()
        running = (await client.get(path, params={"status": "running"})).json()
        of_process = (await client.get(path, params={"system_id": "s_other"})).json()
        strange = await client.get(path, params={"status": "sleepy"})
        paged = await client.get(path, params={"per_page": 1, "page": 2})
    assert [item["id"] for item in everything] == [second["id"], first["id"]]
    assert [item["id"] for item in rising] == [first["id"], second["id"]]
    assert [item["id"] for item in running] == [second["id"]]
    assert everything[0]["project"]["path_with_namespace"] == await site.path()
    assert (of_process, strange.status_code) == ([], 400)
    assert ([item["id"] for item in paged.json()], paged.headers["X-Total"]) == ([first["id"]], "2")
    async with site.client(await site.person("stranger")) as stranger:
        assert (await stranger.get(path)).json() == []
    async with site.client(await site.person("member", MAINTAINER)) as member:
        assert len((await member.get(path)).json()) == 2
