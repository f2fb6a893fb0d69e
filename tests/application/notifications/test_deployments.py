"""Deployments by e-mail: to watchers, to who deployed in the pipeline of another, to those whom a job waits for."""

from typing import Any

import pytest
from sqlalchemy import update

from domain.messages import Command
from models.columns import table_of
from models.tables.pipelines import Job
from tests.application.notifications.desk import Desk

SHIP = "ship: {stage: deploy, script: x, environment: prod}\n"
WAITS = "ship: {stage: deploy, script: x, environment: prod, when: manual}\n"
job_table = table_of(Job)


async def occasions(desk: Desk) -> list[str]:
    """To whom which occasion went since the last look."""
    await desk.told()
    found = sorted(f"{one.to[0].split('@')[0]} {one.mail['X-Perdure-Occasion']}" for one in desk.server.taken)
    desk.server.taken.clear()
    return found


async def protect(desk: Desk, **level: Any) -> None:
    async with desk.site.client(desk.site.root) as client:
        path = f"/api/v4/projects/{desk.site.world.project_id}/protected_environments"
        body = {"name": "prod", "deploy_access_levels": [level]}
        response = await client.post(path, json=body)
        assert response.status_code == 201, response.text


async def test_a_failure_goes_to_watchers_and_once_to_whoever_started_it(desk: Desk) -> None:
    watcher, other = await desk.site.person("watcher", 30), await desk.site.person("other", 30)
    await desk.choose(watcher, "watch")
    await desk.choose(other, "participating")
    await desk.pipeline("failed", config=SHIP)
    assert await occasions(desk) == ["root pipeline_failed", "watcher deployment_failed"]


async def test_whoever_deployed_in_the_pipeline_of_another_hears_of_it(desk: Desk) -> None:
    ada = await desk.site.person("ada", 40)
    world = desk.site.world
    pipeline_id = await world.pipeline(SHIP)
    async with desk.site.services.database.write() as connection:
        await connection.execute(update(job_table).values(user_id=ada.id))
    await world.put(await world.job(), "failed")
    await desk.settle(pipeline_id)
    assert await occasions(desk) == ["ada deployment_failed", "root pipeline_failed"]


async def test_a_success_is_told_to_those_who_chose_it(desk: Desk) -> None:
    ada = await desk.site.person("ada", 30)
    await desk.choose(ada, "custom", successful_deployment=True)
    await desk.pipeline("success", config=SHIP)
    assert await occasions(desk) == ["ada deployment_succeeded"]


@pytest.mark.parametrize("guarded", [True, False])
async def test_a_job_that_waits_is_told_to_those_who_may_deploy(desk: Desk, *, guarded: bool) -> None:
    await desk.site.person("dev", 30)
    await desk.site.person("boss", 40)
    if guarded:
        await protect(desk, access_level=40)
    pipeline_id = await desk.site.world.pipeline(WAITS)
    await desk.settle(pipeline_id)
    assert await occasions(desk) == (["boss deployment_waiting"] if guarded else [])


async def test_one_that_is_reported_by_the_api(desk: Desk) -> None:
    watcher = await desk.site.person("watcher", 30)
    await desk.choose(watcher, "watch", desk.of_project)
    sha = await desk.site.commit({"a": "a"})
    async with desk.site.client(desk.site.root) as client:
        path = f"/api/v4/projects/{desk.site.world.project_id}/deployments"
        body = {"environment": "prod", "sha": sha, "ref": "main", "tag": False, "status": "failed"}
        assert (await client.post(path, json=body)).status_code == 201
    assert await occasions(desk) == ["watcher deployment_failed"]


async def test_who_watches_everything_hears_of_own_projects_alone(desk: Desk) -> None:
    """As in GitLab: somebody's level for everything reaches projects that they are a member of."""
    stranger = await desk.site.person("stranger")
    await desk.choose(stranger, "watch")
    await desk.site.set_project(visibility="public")
    await desk.pipeline("failed", config=SHIP)
    assert await occasions(desk) == ["root pipeline_failed"]
    await desk.choose(stranger, "watch", desk.of_project)
    await desk.pipeline("failed", config=SHIP)
    assert await occasions(desk) == ["root pipeline_failed", "stranger deployment_failed"]


async def test_canceled_and_started_ones_are_told_in_chats_alone(desk: Desk) -> None:
    watcher = await desk.site.person("watcher", 30)
    await desk.choose(watcher, "watch")
    world = desk.site.world
    pipeline_id = await world.pipeline(SHIP)
    await world.job()
    await desk.settle(pipeline_id, Command("cancel_pipeline", "k"))
    assert await occasions(desk) == []
    assert await desk.notices() == []
