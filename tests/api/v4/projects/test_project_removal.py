"""Projects and groups are removed whatever runs in them: it is canceled first, and a killed process changes nothing."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update
from temporalio.client import WorkflowUpdateFailedError

from domain.messages import Operation
from loops.removals import RemovalLoop
from models.columns import table_of
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import outbox, pipelines
from models.repositories.projects import project_removal, projects
from models.repositories.projects.project_removal import Removed
from models.tables.namespaces import Namespace
from models.tables.notifications import NotificationSetting
from models.tables.pipelines import Job, Pipeline
from models.tables.projects import Project
from models.tables.runners import Runner
from tests.api.v4.site import Site

OWNER = 50
CONFIG = "build: {script: make}\ntest: {script: make test, stage: test}\n"


def loop_of(site: Site) -> RemovalLoop:
    """The loop of a process that has just been started."""
    services = site.services
    return RemovalLoop(services.database, services.repositories, services.notifications, services.clock)


async def commands(site: Site) -> list[Any]:
    """The commands that wait for the relay."""
    async with site.services.database.read() as connection:
        return list(await outbox.unsent(connection, site.services.clock(), 100, (outbox.COMMAND,)))


async def relay(site: Site) -> list[str]:
    """Bring the commands to the workflows; their names."""
    rows = await commands(site)
    for row in rows:
        async with site.services.database.write() as connection:
            facts = (await pipelines.facts_of(connection, [row.pipeline_id]))[row.pipeline_id]
            await outbox.mark_sent(connection, [row], site.services.clock())
        operation = Operation(key=row.payload["key"])
        with suppress(WorkflowUpdateFailedError):  # as the relay does: what is canceled already is refused
            await site.services.temporal.pipelines.ask(facts, row.payload["name"], operation, timedelta(seconds=5))
    return [row.payload["name"] for row in rows]


async def left(site: Site, model: Any = Project) -> int:
    """How many rows of a table there are."""
    async with site.services.database.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(table_of(model)))).scalar_one())


@pytest.mark.both_databases
async def test_a_project_with_many_pipelines_is_removed_a_few_at_a_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the process is killed between two batches, the next look goes on."""
    monkeypatch.setattr("models.repositories.projects.project_removal.MAX_BATCH", 2)
    made = [await site.world.pipeline(CONFIG) for _ in range(5)]
    async with site.services.database.write() as connection:
        for table in (Pipeline, Job):
            await connection.execute(update(table_of(table)).values(status="success"))
    async with site.client(site.root) as client:
        path = f"/api/v4/projects/{site.world.project_id}"
        assert (await client.delete(path)).status_code == 202
        gone = await client.get(path)
        assert gone.status_code == 404
        assert gone.json()["message"].endswith(" is being removed; 3 of its pipelines are left.")
    developer = await site.person("developer", 30)
    async with site.client(developer) as client:
        assert (await client.get(path)).json()["message"] == "404 Project Not Found"
    assert (await left(site, Pipeline), await left(site)) == (len(made) - 2, 1)
    async with site.services.database.write() as connection:
        assert await project_removal.remove_ended(connection, site.world.project_id) is Removed.PART
    assert await loop_of(site).remove_marked() == 1
    assert (await left(site, Pipeline), await left(site, Job), await left(site)) == (0, 0, 0)


@pytest.mark.both_databases
async def test_a_pipeline_with_many_jobs_is_removed_a_few_of_them_at_a_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.repositories.projects.project_removal.MAX_JOBS", 2)
    for _ in range(2):
        await site.world.pipeline(CONFIG)
    seen = []
    async with site.services.database.write() as connection:
        for table in (Pipeline, Job):
            await connection.execute(update(table_of(table)).values(status="success"))
    removed = Removed.PART
    while removed is Removed.PART:
        async with site.services.database.write() as connection:
            removed = await project_removal.remove_ended(connection, site.world.project_id)
        seen.append((await left(site, Pipeline), await left(site, Job), await left(site)))
    assert (removed, seen) == (Removed.WHOLE, [(2, 2, 1), (0, 0, 0)])


@pytest.mark.both_databases
async def test_a_project_whose_pipeline_runs_is_gone_for_everybody_and_removed_when_it_was_canceled(site: Site) -> None:
    site.connect_temporal()
    await site.commit({"a": "a"})
    pipeline_id = await site.world.pipeline(CONFIG)
    job = await site.world.job()
    path = f"/api/v4/projects/{site.world.project_id}"
    folder = site.services.repositories.path(site.world.project_id)
    owner = await site.person("owner", OWNER)
    async with site.client(owner) as client:
        full_path = (await client.get(path)).json()["path_with_namespace"]
        gone = await client.delete(path)
        assert (gone.status_code, gone.json()) == (202, {"message": "202 Accepted"})
        assert (await client.delete(path)).status_code == 404
        told = (await client.get(path)).json()["message"]
        assert told.endswith(" is being removed; 1 of its pipelines are left, 1 of which have to end first.")
        page = await client.get(f"/{full_path}")
        assert (page.status_code, "1 of its pipelines are left" in page.text) == (404, True)
        assert (await client.get("/api/v4/projects")).json() == []
        assert (await client.get("/api/v4/projects?membership=true")).json() == []
    loop = loop_of(site)
    assert (await loop.remove_marked(), await left(site), folder.exists()) == (0, 1, True)
    assert set(await relay(site)) == {"cancel_pipeline"}
    response = await site.world.patch(job, 0, b"log\n")
    assert response.headers["Job-Status"] == "canceling"
    assert await loop.remove_marked() == 0
    assert (await site.world.put(job, "failed", b"log\n")).status_code == 200
    await site.world.settle(pipeline_id)
    assert await loop.remove_marked() == 1
    assert (await left(site), await left(site, Job), folder.exists()) == (0, 0, False)
    assert await loop.remove_marked() == 0


async def test_a_pipeline_that_no_command_has_reached_is_asked_again_by_the_next_process(site: Site) -> None:
    site.connect_temporal()
    await site.world.pipeline(CONFIG)
    async with site.client(site.root) as client:
        assert (await client.delete(f"/api/v4/projects/{site.world.project_id}")).status_code == 202
    async with site.services.database.write() as connection:
        await connection.execute(update(outbox.outbox).values(sent_at=site.services.clock()))
    assert await commands(site) == []
    loop = loop_of(site)
    for _ in range(2):
        assert await loop.remove_marked() == 0
    assert await relay(site) == ["cancel_pipeline"]
    assert await loop.remove_marked() == 1


async def test_a_project_without_pipelines_that_run_is_removed_at_once(site: Site) -> None:
    await site.commit({"a": "a"})
    async with site.client(site.root) as client:
        assert (await client.delete(f"/api/v4/projects/{site.world.project_id}")).status_code == 202
    assert await left(site) == 0


@pytest.mark.both_databases
async def test_a_group_goes_with_all_that_is_in_it_once_its_pipelines_are_canceled(site: Site) -> None:
    site.connect_temporal()
    await site.world.pipeline(CONFIG)
    async with site.services.database.write() as connection:
        row = await projects.find(connection, site.world.project_id)
        assert row is not None
        top = await namespaces.get_by(connection, key=row.namespace_id)
    async with site.client(site.root) as client:
        body = {"name": "in", "path": "in", "parent_id": top.id}
        inner = (await client.post("/api/v4/groups", json=body)).json()
        assert (await client.post("/api/v4/projects", json={"name": "p", "namespace_id": inner["id"]})).is_success
        wish = {"runner_type": "group_type", "group_id": inner["id"]}
        assert (await client.post("/api/v4/user/runners", json=wish)).status_code == 201
        before = await left(site, Runner)
        assert (await client.delete(f"/api/v4/groups/{top.id}")).status_code == 202
        assert [(await client.get(f"/api/v4/groups/{key}")).status_code for key in (top.id, inner["id"])] == [404, 404]
        assert (await client.get("/api/v4/groups")).json() == []
        assert (await client.post("/api/v4/projects", json={"name": "q", "namespace_id": top.id})).status_code == 404
        again = await client.post("/api/v4/groups", json={"name": "again", "path": top.path})
        assert (again.status_code, "already been taken" in again.text) == (400, True)
        assert (await left(site), before - await left(site, Runner)) == (1, 1)  # what is inside was empty
        loop = loop_of(site)
        assert await relay(site) == ["cancel_pipeline"]
        await loop.remove_marked()
        assert (await left(site), await left(site, Namespace)) == (0, 0)
        assert (await client.post("/api/v4/groups", json={"name": "again", "path": top.path})).status_code == 201


@pytest.mark.both_databases
async def test_what_people_want_to_hear_of_a_group_goes_with_it(site: Site) -> None:
    async with site.client(site.root) as client:
        made = (await client.post("/api/v4/groups", json={"name": "loud", "path": "loud"})).json()
        place = f"/api/v4/groups/{made['id']}"
        assert (await client.put(f"{place}/notification_settings", json={"level": "watch"})).status_code == 200
        assert (await client.delete(place)).status_code == 202
        assert (await client.get(place)).status_code == 404
    assert await left(site, NotificationSetting) == 0


async def test_somebodys_own_namespace_is_no_group_to_remove(site: Site) -> None:
    async with site.client(site.root) as client:
        made = (await client.post("/api/v4/projects", json={"name": "mine"})).json()
        response = await client.delete(f"/api/v4/groups/{made['namespace']['id']}")
        assert (response.status_code, "own namespace" in response.text) == (409, True)
        assert (await client.get(f"/api/v4/projects/{made['id']}")).status_code == 200
