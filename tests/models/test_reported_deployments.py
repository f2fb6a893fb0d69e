"""Deployments that no job made stand beside those of jobs wherever deployments are looked at."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from domain.environments.places import Place
from domain.errors import FieldsInvalid, Invalid
from domain.hooks.webhooks import Event, bits_of
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.environments import (
    deployment_listings,
    environment_lifecycle,
    environments,
    reported_deployments,
)
from models.repositories.environments.deployment_listings import DeploymentFilter
from models.repositories.environments.reported_deployments import Report
from models.repositories.hooks import hooks
from models.repositories.owner import Owner
from models.repositories.paging import every_of
from models.repositories.pipelines import pipeline_removal, pipelines
from models.repositories.pipelines.pipeline_removal import Policy
from models.rows.environments import DeploymentRow
from models.tables.environments import Deployment, Environment
from models.tables.hooks import HookEvent
from models.tables.pipelines import Pipeline
from tests.compiling import plan_of
from tests.models.world import BEGIN, World, job

environment = table_of(Environment)
deployment = table_of(Deployment)
pipeline = table_of(Pipeline)
events = table_of(HookEvent)

DEPLOY = "deploy: {script: x, environment: production}\n"
PLACE = Place("production", tier="production", slug="production")


async def report(world: World, status: str = "success", sha: str = "2" * 40, ref: str = "main") -> DeploymentRow:
    """A deployment that no job made, to the environment of the tests."""
    told = Report(world.project_id, world.user_id, ref, False, sha, Status(status), "A title")
    now = world.now()
    async with world.database.write() as connection:
        ids = await environments.ensure(connection, world.project_id, [PLACE], now)
        made = await reported_deployments.take(connection, ids["production"], told, now)
        return await deployment_listings.get(connection, made, world.project_id)


async def change(world: World, row: DeploymentRow, to: str) -> DeploymentRow:
    """Say how it goes now."""
    async with world.database.write() as connection:
        await reported_deployments.change(connection, row, Status(to), "A title", world.now())
        return await deployment_listings.get(connection, row.id, world.project_id)


async def deploys(world: World, sha: str = "1" * 40) -> tuple[int, int]:
    """A pipeline of a commit whose job is to deploy: their ids."""
    request = pipelines.PipelineRequest(world.project_id, world.user_id, "main", sha, "push")
    async with world.database.write() as connection:
        made = await pipelines.create(connection, request, plan_of(DEPLOY), world.now(), seal=str)
    await world.settle(made)
    return made, (await world.row(job, pipeline_id=made)).id


async def listed(world: World, **wanted: Any) -> list[tuple[int, str]]:
    async with world.database.read() as connection:
        statement = deployment_listings.of_project(world.project_id, DeploymentFilter(**wanted))
        return [(row.iid, row.status) for row in await every_of(connection, statement)]


async def current(world: World) -> int | None:
    """The number of the newest successful deployment."""
    async with world.database.read() as connection:
        key = (await world.row(environment)).id
        found = (await deployment_listings.latest_successful(connection, [key])).get(key)
        return None if found is None else found.iid


async def test_both_kinds_are_counted_listed_and_filtered_together(world: World) -> None:
    await deploys(world)
    await world.end(await world.take())
    running = await report(world, "running")
    failed = await report(world, "failed", sha="3" * 40)
    assert (running.finished_at, failed.finished_at) == (None, failed.created_at)
    assert await listed(world) == [(1, "success"), (2, "running"), (3, "failed")]
    assert await listed(world, status="failed") == [(3, "failed")]
    assert await listed(world, environment="production", status="running") == [(2, "running")]
    assert await listed(world, finished_after=failed.finished_at) == [(3, "failed")]
    assert await listed(world, order_by="updated_at", ascending=False) == [
        (3, "failed"),
        (2, "running"),
        (1, "success"),
    ]
    assert await current(world) == 1
    done = await change(world, running, "success")
    assert (done.status, done.updated_at, done.created_at) == ("success", done.finished_at, running.created_at)
    assert await current(world) == 2


async def test_the_same_as_the_current_one_is_that_one(world: World) -> None:
    first = await report(world)
    assert (await report(world)).id == first.id
    assert (await report(world, ref="other")).id != first.id


async def test_an_end_is_corrected_and_nothing_runs_again(world: World) -> None:
    row = await change(world, await report(world, "running"), "failed")
    with pytest.raises(FieldsInvalid, match='cannot transition via "run"'):
        await change(world, row, "running")
    with pytest.raises(FieldsInvalid, match="drop"):
        await change(world, row, "failed")
    assert (await change(world, row, "success")).status == "success"


async def test_a_success_makes_its_environment_available(world: World) -> None:
    row = await report(world, "running")
    async with world.database.write() as connection:
        await environment_lifecycle.force_stop(connection, row.environment_id, world.now())
    await change(world, row, "success")
    assert (await world.row(environment)).state == "available"


@pytest.mark.parametrize(("sha", "status", "expected"), [("2", "success", "failed"), ("1", "success", "running")])
async def test_a_job_from_before_a_reported_deployment_is_outdated_unless_it_is_the_same_commit(
    world: World, sha: str, status: str, expected: str
) -> None:
    _, old = await deploys(world)
    await report(world, status, sha=sha * 40)
    await world.claim()
    row = await world.row(job, id=old)
    assert row.status == expected
    assert row.failure_reason == ("failed_outdated_deployment_job" if expected == "failed" else "")


async def test_neither_a_running_one_nor_one_from_before_makes_a_job_outdated(world: World) -> None:
    await report(world, sha="3" * 40)
    _, made = await deploys(world)
    await report(world, "running")
    assert await world.take() == made


async def test_an_environment_that_was_reported_last_is_stopped_at_once(world: World) -> None:
    row = await report(world, ref="feature")
    async with world.database.write() as connection:
        stopped = await environment_lifecycle.stop_of_branch(
            connection, world.project_id, "feature", world.now(), caller_id=world.user_id
        )
    assert stopped == [row.environment_id]
    assert (await world.row(environment)).state == "stopped"


async def test_a_removed_pipeline_takes_its_deployments_and_no_others(world: World) -> None:
    made, _ = await deploys(world)
    await world.end(await world.take())
    await world.settle(made)
    kept = await report(world)
    async with world.database.write() as connection:
        assert await pipeline_removal.remove_ended(connection, made)
    assert [row.id for row in await world.rows(deployment)] == [kept.id]


async def test_what_is_removed_neither_runs_nor_is_current(world: World) -> None:
    running, first = await report(world, "running"), await report(world)
    last = await report(world, sha="3" * 40)
    async with world.database.write() as connection:
        with pytest.raises(Invalid, match="running"):
            await reported_deployments.remove(connection, running)
        with pytest.raises(Invalid, match="currently deployed"):
            await reported_deployments.remove(connection, last)
        await reported_deployments.remove(connection, first)
    assert [row.id for row in await world.rows(deployment)] == [running.id, last.id]


async def test_hooks_hear_of_each_status_and_nobody_else_pays(world: World) -> None:
    await report(world, "failed")
    async with world.database.write() as connection:
        owner, wanted = Owner(world.project_id), bits_of([Event.DEPLOYMENT])
        await hooks.add(connection, owner, BEGIN, url="http://h.example/", events=wanted)
    row = await change(world, await report(world, "running"), "success")
    told = [event.facts for event in await world.rows(events)]
    assert [facts["status"] for facts in told] == ["running", "success"]
    assert (told[1]["environment"], told[1]["environment_tier"]) == ("production", "production")
    assert (told[1]["deployment_id"], told[1]["sha"], told[1]["commit_title"]) == (row.id, "2" * 40, "A title")
    async with world.database.write() as connection:
        newest = await reported_deployments.newest(connection, world.project_id)
        assert newest is not None
        assert newest.id == row.id
        await connection.execute(delete(deployment))
        assert await reported_deployments.newest(connection, world.project_id) is None


async def test_a_pipeline_is_kept_only_while_its_deployment_is_the_current_one(world: World) -> None:
    made, _ = await deploys(world)
    await world.end(await world.take())
    await world.settle(made)
    policy = Policy(world.project_id, keep_latest_artifacts=False, seconds=1)

    async def due() -> list[int]:
        later = world.now() + timedelta(hours=1)
        async with world.database.read() as connection:
            return [row.id for row in await pipeline_removal.due(connection, policy, later, 0, 10)]

    await report(world, "running")
    assert await due() == []
    await report(world)
    assert await due() == [made]
