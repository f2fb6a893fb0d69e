"""The admin area of one pod by REST."""

from typing import Any

import pytest

from application.pods import tag_sets
from models.repositories import database_time
from models.repositories.projects.projects import project
from models.repositories.queue import contacts
from models.repositories.queue.contacts import Contact
from models.repositories.runners import runners
from tests.api.v4.site import Site

PATHS = ("/pod", "/pod/tag_sets", "/pod/queue")
NO_RUNNERS = {"online": 0, "offline": 0, "stale": 0, "never_contacted": 0, "paused": 0}


async def get(site: Site, path: str) -> Any:
    async with site.client(site.root) as client:
        response = await client.get(f"/api/v4{path}")
    assert response.status_code == 200, response.text
    return response.json()


async def add_runner(site: Site, *tags: str, version: str = "", **values: Any) -> int:
    """A runner; one with a version has called just now."""
    async with site.services.database.write() as connection:
        now = await database_time.moment(connection)
        key = await runners.create(connection, f"hash {tags} {values}", now, tags=list(tags), **values)
        if version:
            await contacts.write(connection, [Contact(key, "s_1", {"version": version}, "")], now)
    return key


@pytest.mark.parametrize("path", PATHS)
async def test_only_administrators_see_the_pod(site: Site, path: str) -> None:
    person = await site.person("somebody", 50)
    async with site.client(person) as client, site.client() as nobody:
        assert (await client.get(f"/api/v4{path}")).status_code == 403
        assert (await nobody.get(f"/api/v4{path}")).status_code == 401


async def test_the_pod_says_what_it_is_and_what_it_reaches(site: Site) -> None:
    settings, database = site.services.settings, site.services.database
    found = await get(site, "/pod")
    assert (found["name"], found["number"]) == (settings.pod, settings.pod_number)
    assert found["temporal"] == {"namespace": settings.namespace, "connected": False}
    assert found["database"]["kind"] == ("sqlite" if database.is_sqlite else "postgresql")
    assert (found["database"]["reachable"], found["started_at"] is None) == (True, False)
    assert found["database"]["schema"] == found["database"]["newest_schema"]
    site.connect_temporal()
    assert (await get(site, "/pod"))["temporal"]["connected"]


async def test_the_pod_counts_its_runners_and_its_jobs(site: Site) -> None:
    found = await get(site, "/pod")
    assert found["jobs"] == {"pending": 0, "running": 0, "oldest_pending": None}
    kinds = {"group_type": NO_RUNNERS, "project_type": NO_RUNNERS}
    assert found["runners"] == {"instance_type": {**NO_RUNNERS, "never_contacted": 1}, **kinds}
    await add_runner(site, "gpu", version="18.0.0", paused=True)
    await site.world.pipeline("one: {script: x}\ntwo: {script: x}\nthree: {script: x, tags: [gpu]}\n")
    await site.world.job()
    found = await get(site, "/pod")
    assert (found["jobs"]["pending"], found["jobs"]["running"]) == (2, 1)
    assert 0 <= found["jobs"]["oldest_pending"] < 60
    counted = found["runners"]["instance_type"]
    assert (counted["online"], counted["never_contacted"], counted["paused"]) == (2, 0, 1)
    assert {"version": "18.0.0", "processes": 1} in found["runner_versions"]


async def test_the_tag_sets_that_runners_take_are_listed_with_their_runners(site: Site) -> None:
    await add_runner(site, "gpu", "arm", version="18", run_untagged=False)
    await add_runner(site, "arm", "gpu", run_untagged=False)
    await add_runner(site, "gpu", "arm", run_untagged=False, ref_protected=True, paused=True)
    plain, *found = await get(site, "/pod/tag_sets")
    assert (plain["tag_list"], plain["run_untagged"], plain["silent"]) == ([], True, 1)
    alike = {"tag_list": ["arm", "gpu"], "runner_type": "instance_type", "run_untagged": False, "as_server": False}
    assert found == [
        {**alike, "ref_protected": False, "available": 1, "silent": 1, "paused": 0},
        {**alike, "ref_protected": True, "available": 0, "silent": 0, "paused": 1},
    ]


async def test_the_queue_says_by_tag_set_what_waits_and_whether_anybody_takes_it(site: Site) -> None:
    await add_runner(site, "arm", version="18")
    await site.world.pipeline("one: {script: x, tags: [gpu]}\ntwo: {script: x, tags: [arm]}\nthree: {script: x}\n")
    found = {tuple(one["tag_list"]): one for one in await get(site, "/pod/queue")}
    assert {tags: (one["jobs"], one["served"], one["stuck"]) for tags, one in found.items()} == {
        ("gpu",): (1, False, 1),
        ("arm",): (1, True, 0),
        (): (1, True, 0),
    }
    assert found["gpu",]["stuck_reason"] == "No runner of this project has the tag gpu."
    assert found["arm",]["stuck_reason"] is None
    assert all(0 <= one["oldest"] < 60 for one in found.values())


@pytest.mark.parametrize("first", [1, 50])
async def test_a_group_lists_what_its_jobs_asked_for_and_what_becomes_of_it(
    site: Site, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its pipelines are counted one by one."""
    monkeypatch.setattr(tag_sets, "_FIRST", first)
    monkeypatch.setattr(tag_sets, "_MAX_JOBS", first)
    async with site.services.database.read() as connection:
        row = (await connection.execute(project.select().where(project.c.id == site.world.project_id))).one()
    group = row.organisation_id
    assert await get(site, f"/groups/{group}/tag_sets") == []
    await add_runner(site, "arm", version="18", runner_type="group_type", organisation_id=group)
    await site.world.pipeline("one: {script: x, tags: [gpu]}\ntwo: {script: x, tags: [arm]}\nthree: {script: x}\n")
    await site.world.pipeline("one: {script: x, tags: [gpu]}\n")
    found = await get(site, f"/groups/{group}/tag_sets?days=1")
    seen = [(one["tag_list"], one["jobs"], one["available_here"], one["available_own"]) for one in found]
    assert seen == [
        ([], 1, "available", "available"),
        (["arm"], 1, "available", "available"),
        (["gpu"], 2, "none", "none"),
    ]
    assert all(one["instance_runners"] and one["last_used_at"] for one in found)


@pytest.mark.parametrize(("level", "status"), [(10, 403), (30, 403), (40, 200), (50, 200)])
async def test_maintainers_of_a_group_see_what_it_used(site: Site, level: int, status: int) -> None:
    person = await site.person("somebody")
    async with site.client(site.root) as client:
        made = (await client.post("/api/v4/groups", json={"name": "g", "path": "g"})).json()
        added = {"user_id": person.id, "access_level": level}
        assert (await client.post(f"/api/v4/groups/{made['id']}/members", json=added)).status_code == 201
        assert (await client.get("/api/v4/groups/g/tag_sets?days=0")).status_code == 400
    async with site.client(person) as client:
        assert (await client.get("/api/v4/groups/g/tag_sets")).status_code == status
