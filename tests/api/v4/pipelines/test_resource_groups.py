"""Resource groups as GitLab's clients see them."""

from typing import Any

import httpx
import pytest

from models.columns import table_of
from models.repositories.pipelines import outbox, resource_groups
from models.tables.outbox import Outbox
from models.tables.pipelines import Job
from tests.api.v4.site import Site

DEVELOPER = 30
ROUTES = ("", "/upcoming_jobs", "/current_job")

job = table_of(Job)
outbox_table = table_of(Outbox)


async def deploys(site: Site, count: int, key: str = "production") -> list[int]:
    """Jobs of so many pipelines, all of which wait for the slot; oldest first."""
    for _ in range(count):
        pipeline_id = await site.world.pipeline(f"deploy: {{script: x, resource_group: '{key}'}}\n")
        while await site.world.settle(pipeline_id):
            pass
    async with site.services.database.read() as connection:
        rows = await connection.execute(job.select().where(job.c.status == "waiting_for_resource").order_by(job.c.id))
        return [row.id for row in rows.all()]


async def address(site: Site, key: str = "production") -> str:
    """Where a group is."""
    return f"/api/v4/projects/{site.world.project_id}/resource_groups/{key}"


async def listed(client: httpx.AsyncClient, path: str) -> list[int]:
    """Ids of a list."""
    response = await client.get(path)
    assert response.status_code == 200, response.text
    return [item["id"] for item in response.json()]


async def test_groups_are_listed_and_read(site: Site) -> None:
    await deploys(site, 1)
    await deploys(site, 1, "review/a 1")
    async with site.client(await site.person("dev", DEVELOPER)) as client:
        response = await client.get(f"/api/v4/projects/{site.world.project_id}/resource_groups")
        one = (await client.get(await address(site))).json()
        encoded = (await client.get(await address(site, "review%2Fa%201"))).json()
    groups: list[dict[str, Any]] = response.json()
    assert response.headers["x-total"] == "2"
    assert [item["key"] for item in groups] == ["production", "review/a 1"]
    assert one == groups[0]
    assert encoded == groups[1]
    assert set(one) == {"id", "key", "process_mode", "created_at", "updated_at"}
    assert one["process_mode"] == "unordered"


async def test_another_mode_orders_the_list_and_wakes_the_group(site: Site) -> None:
    jobs = await deploys(site, 3)
    path = await address(site)
    async with site.client(await site.person("dev", DEVELOPER)) as client:
        assert await listed(client, f"{path}/upcoming_jobs") == jobs
        before = await told(site)
        response = await client.put(path, json={"process_mode": "newest_first"})
        assert (response.status_code, response.json()["process_mode"]) == (200, "newest_first")
        assert len(await told(site)) == len(before) + 1
        assert await listed(client, f"{path}/upcoming_jobs") == jobs[::-1]
        assert await listed(client, f"{path}/upcoming_jobs?per_page=1&page=2") == [jobs[1]]
        assert (await client.get(path)).json() == response.json()


async def told(site: Site) -> list[dict[str, Any]]:
    """What is still to be told to groups."""
    async with site.services.database.read() as connection:
        rows = await connection.execute(outbox_table.select().where(outbox_table.c.kind == outbox.GROUP))
        return [row.payload for row in rows.all()]


async def test_a_mode_that_does_not_exist_is_refused_and_none_at_all_changes_nothing(site: Site) -> None:
    await deploys(site, 1)
    path = await address(site)
    async with site.client(await site.person("dev", DEVELOPER)) as client:
        before = (await client.get(path)).json()
        wrong = await client.put(path, json={"process_mode": "random"})
        nothing = await client.put(path, json={})
        assert (wrong.status_code, nothing.status_code) == (400, 200)
        assert "process_mode does not have a valid value" in wrong.text
        assert nothing.json() == before == (await client.get(path)).json()


async def test_who_holds_the_slot_is_shown_until_he_has_ended(site: Site) -> None:
    first, second = await deploys(site, 2)
    path = await address(site)
    async with site.client(site.root) as client:
        assert (await client.get(f"{path}/current_job")).json() is None
        async with site.services.database.write() as connection:
            assert await resource_groups.take(connection, [first]) == (first,)
        shown = (await client.get(f"{path}/current_job")).json()
        assert (shown["id"], shown["name"]) == (first, "deploy")
        assert await listed(client, f"{path}/upcoming_jobs") == [second]
        async with site.services.database.write() as connection:
            await connection.execute(job.update().where(job.c.id == first).values(status="canceled"))
        assert (await client.get(f"{path}/current_job")).json() is None


@pytest.mark.parametrize("route", ROUTES)
async def test_a_group_that_does_not_exist_is_not_found(site: Site, route: str) -> None:
    await deploys(site, 1)
    async with site.client(site.root) as client:
        response = await client.get(await address(site, f"staging{route}"))
    assert (response.status_code, response.json()) == (404, {"message": "404 Resource Group Not Found"})
