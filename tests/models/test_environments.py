"""Environments and deployments in SQL: made in bulk, derived from jobs, stopped once, never deployed backwards."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from textwrap import dedent
from typing import Any

import pytest
from sqlalchemy import update

from domain.environments.places import Place
from domain.messages import Command
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.artifacts import reports
from models.repositories.environments import deployment_listings, deployments, environment_lifecycle, environments
from models.repositories.environments.deployment_listings import DeploymentFilter
from models.repositories.namespaces import namespaces
from models.repositories.paging import every_of
from models.repositories.pipelines import pipelines
from models.repositories.projects import projects
from models.rows.environments import DeploymentRow
from models.tables.environments import Deployment, Environment
from tests.compiling import plan_of
from tests.models.world import World, job

environment = table_of(Environment)
deployment = table_of(Deployment)

REVIEW = """
    stages: [deploy, cleanup]
    deploy:
      stage: deploy
      script: x
      environment: {name: review, url: 'https://review.example/$CI_JOB_ID', on_stop: stop, auto_stop_in: 1 hour}
    stop:
      stage: cleanup
      script: x
      when: manual
      environment: {name: review, action: stop}
"""
DEPLOY = "deploy: {script: x, environment: production}\n"


async def begin(world: World, config: str, sha: str = "c0ffee", ref: str = "main") -> int:
    """A pipeline of a commit, up to the point where runners come in."""
    request = pipelines.PipelineRequest(world.project_id, world.user_id, ref, sha, "push")
    async with world.database.write() as connection:
        made = await pipelines.create(connection, request, plan_of(dedent(config)), world.now(), seal=str)
    await world.settle(made)
    return made


async def run(world: World, pipeline_id: int, status: Status = Status.SUCCESS) -> int:
    """Take the next job, end it, and let the pipeline go on; the job's id."""
    job_id = await world.take()
    await world.end(job_id, status)
    await world.settle(pipeline_id)
    return job_id


async def the_environment(world: World) -> Any:
    return await world.row(environment)


async def shown(world: World, **wanted: Any) -> Sequence[DeploymentRow]:
    """Deployments as the API lists them."""
    async with world.database.read() as connection:
        return await every_of(connection, deployment_listings.of_project(world.project_id, DeploymentFilter(**wanted)))


async def stop(world: World, *ids: int) -> list[int]:
    async with world.database.write() as connection:
        return await environment_lifecycle.stop(connection, ids, world.now())


async def test_a_pipeline_makes_its_environments_in_bulk_and_only_once(world: World) -> None:
    many = (
        "".join(f"deploy{n}: {{script: x, environment: review/{n % 50}}}\n" for n in range(100)) + "plain: {script: x}"
    )
    await world.create(many)
    await world.create(many)
    rows = await world.rows(environment)
    assert [row.name for row in rows] == sorted({f"review/{n}" for n in range(50)})
    assert {(row.state, row.tier, row.project_id) for row in rows} == {("available", "development", world.project_id)}
    by_name = {row.name: row.id for row in rows}
    for row in await world.rows(job):
        known = (None, "") if row.name == "plain" else (by_name[f"review/{int(row.name[6:]) % 50}"], "start")
        assert (row.environment_id, row.environment_action) == known


async def test_environments_of_the_same_name_belong_to_their_projects(world: World) -> None:
    await world.create(DEPLOY)
    async with world.database.write() as connection:
        owner = await namespaces.get_by(connection, path="acme")
        other = await projects.create_project(connection, owner, "other", "Other", world.user_id, world.now())
        place = Place("production", tier="production", slug="production")
        first = await environments.ensure(connection, world.project_id, [place], world.now())
        second = await environments.ensure(connection, other, [place], world.now())
    assert first["production"] != second["production"]
    assert {row.project_id for row in await world.rows(environment)} == {world.project_id, other}


async def test_a_deployment_is_made_when_its_job_is_enqueued_and_each_retry_has_its_own(world: World) -> None:
    pipeline_id = await begin(world, "stages: [build, deploy]\nbuild: {stage: build, script: x}\n" + DEPLOY_LATER)
    assert await shown(world) == []
    await run(world, pipeline_id)
    (first,) = await shown(world)
    assert (first.status, first.iid, first.ref, first.sha, first.user_id) == (
        "pending",
        1,
        "main",
        "c0ffee",
        world.user_id,
    )
    failed = await run(world, pipeline_id, Status.FAILED)
    await world.settle(pipeline_id, Command("retry_job", "again", failed))
    rows = await shown(world)
    assert [(row.iid, row.status) for row in rows] == [(1, "failed"), (2, "pending")]
    assert [row.job_id for row in rows] == [failed, (await world.row(job, name="deploy", retried=False)).id]


DEPLOY_LATER = "deploy: {stage: deploy, script: x, environment: production}\n"


async def test_deployments_are_opened_once_whoever_repeats_it(world: World) -> None:
    pipeline_id = await begin(
        world, DEPLOY + "plain: {script: x}\nlook: {script: x, environment: {name: production, action: verify}}"
    )
    ids = [row.id for row in await world.rows(job, pipeline_id=pipeline_id)]
    for _ in range(2):
        async with world.database.write() as connection:
            await deployments.open_missing(connection, ids, world.now())
    (row,) = await shown(world)
    assert row.job_id == (await world.row(job, name="deploy")).id


@pytest.mark.parametrize("action", ["prepare", "verify", "access"])
async def test_an_action_that_only_uses_the_environment_deploys_and_stops_nothing(world: World, action: str) -> None:
    pipeline_id = await begin(world, f"a: {{script: x, environment: {{name: review, action: {action}}}}}")
    await run(world, pipeline_id)
    row = await the_environment(world)
    assert (row.state, row.auto_stop_at, await shown(world)) == ("available", None, [])


async def test_a_successful_deployment_makes_the_environment_available(world: World) -> None:
    pipeline_id = await begin(world, REVIEW)
    async with world.database.write() as connection:
        await environment_lifecycle.force_stop(connection, (await the_environment(world)).id, world.now())
    job_id = await run(world, pipeline_id)
    row = await the_environment(world)
    finished = (await world.row(job, id=job_id)).finished_at
    assert (row.state, row.external_url) == ("available", f"https://review.example/{job_id}")
    assert row.auto_stop_at == finished + timedelta(hours=1)


async def test_a_deployment_may_report_its_own_address(world: World) -> None:
    pipeline_id = await begin(world, "a: {script: x, environment: {name: review, url: 'https://$HOST.example/'}}")
    job_id = (await world.row(job, pipeline_id=pipeline_id)).id
    async with world.database.write() as connection:
        entries = [{"key": "HOST", "value": "blue-7"}]
        await reports.put(connection, job_id=job_id, pipeline_id=pipeline_id, kind="dotenv", entries=entries)
    await run(world, pipeline_id)
    assert (await the_environment(world)).external_url == "https://blue-7.example/"


async def test_a_failed_deployment_changes_nothing(world: World) -> None:
    pipeline_id = await begin(world, REVIEW)
    before = await the_environment(world)
    await run(world, pipeline_id, Status.FAILED)
    assert await the_environment(world) == before


async def test_a_deployment_without_auto_stop_clears_the_time(world: World) -> None:
    await run(world, await begin(world, REVIEW))
    assert (await the_environment(world)).auto_stop_at is not None
    await run(world, await begin(world, "deploy: {script: x, environment: {name: review, auto_stop_in: never}}"))
    row = await the_environment(world)
    assert row.auto_stop_at is None
    assert row.external_url.startswith("https://review.example/")


async def test_stopping_plays_the_stop_job_and_its_success_stops_the_environment(world: World) -> None:
    pipeline_id = await begin(world, REVIEW)
    await run(world, pipeline_id)
    key = (await the_environment(world)).id
    assert await stop(world, key) == [key]
    row = await the_environment(world)
    assert (row.state, row.auto_stop_at) == ("stopping", None)
    (told,) = await world.outbox(pipeline_id, "command")
    stop_job = await world.row(job, name="stop")
    assert (told.job_id, told.payload["name"]) == (stop_job.id, "play_job")
    assert await stop(world, key) == []
    await world.settle(pipeline_id, Command("play_job", told.payload["key"], told.job_id))
    await run(world, pipeline_id)
    assert (await the_environment(world)).state == "stopped"
    assert len(await world.outbox(pipeline_id, "command")) == 1


async def test_a_stop_job_that_fails_leaves_the_environment_to_be_stopped_again(world: World) -> None:
    pipeline_id = await begin(world, REVIEW)
    await run(world, pipeline_id)
    key = (await the_environment(world)).id
    await stop(world, key)
    (told,) = await world.outbox(pipeline_id, "command")
    await world.settle(pipeline_id, Command("play_job", told.payload["key"], told.job_id))
    await run(world, pipeline_id, Status.FAILED)
    row = await the_environment(world)
    assert (row.state, row.auto_stop_at) == ("available", None)
    assert await stop(world, key) == [key]
    first, second = await world.outbox(pipeline_id, "command")
    assert first.payload["key"] != second.payload["key"]


async def test_an_environment_without_stop_job_is_stopped_at_once(world: World) -> None:
    pipeline_id = await begin(world, DEPLOY)
    await run(world, pipeline_id)
    await stop(world, (await the_environment(world)).id)
    assert (await the_environment(world)).state == "stopped"
    assert await world.outbox(pipeline_id, "command") == []


async def test_an_environment_waits_for_a_stop_job_that_its_pipeline_has_not_come_to(world: World) -> None:
    pipeline_id = await begin(world, REVIEW)
    await world.end(await world.take())  # nobody has folded the verdict: the stop job is still created
    row = await the_environment(world)
    assert await stop(world, row.id) == []
    waiting = await the_environment(world)
    assert (waiting.state, await world.outbox(pipeline_id, "command")) == ("available", [])
    assert waiting.auto_stop_at < row.auto_stop_at
    await world.settle(pipeline_id)
    async with world.database.write() as connection:
        assert await environment_lifecycle.stop_due(connection, world.now()) == [row.id]
    assert len(await world.outbox(pipeline_id, "command")) == 1


async def test_two_that_stop_at_the_same_time_stop_once(world: World) -> None:
    pipeline_id = await begin(world, REVIEW)
    await run(world, pipeline_id)
    key = (await the_environment(world)).id
    results = await asyncio.gather(*(stop(world, key) for _ in range(5)))
    assert sorted(results) == [[], [], [], [], [key]]
    assert len(await world.outbox(pipeline_id, "command")) == 1


async def test_only_what_is_due_is_stopped(world: World) -> None:
    await run(world, await begin(world, REVIEW))
    row = await the_environment(world)
    early, late = row.auto_stop_at - timedelta(seconds=1), row.auto_stop_at
    async with world.database.write() as connection:
        assert not await environment_lifecycle.any_due(connection, early)
        assert await environment_lifecycle.stop_due(connection, early) == []
        assert await environment_lifecycle.any_due(connection, late)
        assert await environment_lifecycle.stop_due(connection, late) == [row.id]
        assert not await environment_lifecycle.any_due(connection, late)


async def test_an_environment_whose_stop_job_never_comes_can_be_stopped_again(world: World) -> None:
    pipeline_id = await begin(world, REVIEW)
    await run(world, pipeline_id)
    key = (await the_environment(world)).id
    await stop(world, key)
    later = world.now() + timedelta(hours=1)
    (told,) = await world.outbox(pipeline_id, "command")
    await world.settle(pipeline_id, Command("play_job", told.payload["key"], told.job_id))
    async with world.database.write() as connection:
        assert await environment_lifecycle.recover(connection, later, later) == []  # it is on its way
        await connection.execute(update(job).where(job.c.name == "stop").values(status=Status.MANUAL))
        assert await environment_lifecycle.recover(connection, later, later) == [key]
    assert (await the_environment(world)).state == "available"


async def test_a_deleted_branch_stops_what_was_deployed_from_it_last(world: World) -> None:
    config = "a: {script: x, environment: one}\nb: {script: x, environment: two}"
    for config_of, ref in ((config, "feature"), ("b: {script: x, environment: two}", "main")):
        pipeline_id = await begin(world, config_of, ref=ref)
        while await world.rows(job, status=Status.PENDING):
            await run(world, pipeline_id)
    async with world.database.write() as connection:
        stopped = await environment_lifecycle.stop_of_branch(
            connection, world.project_id, "feature", world.now(), caller_id=world.user_id
        )
    assert stopped == [(await world.row(environment, name="one")).id]
    tagged = await begin(world, "c: {script: x, environment: three}", ref="v1")
    await run(world, tagged)
    async with world.database.write() as connection:
        await connection.execute(update(deployment).where(deployment.c.pipeline_id == tagged).values(tag=True))
        assert (
            await environment_lifecycle.stop_of_branch(
                connection, world.project_id, "v1", world.now(), caller_id=world.user_id
            )
            == []
        )
    states = {row.name: row.state for row in await world.rows(environment)}
    assert states == {"one": "stopped", "two": "available", "three": "available"}


async def test_an_older_deployment_than_the_newest_successful_one_fails_and_the_next_job_is_handed_out(
    world: World,
) -> None:
    old = await begin(world, DEPLOY + "after: {script: x}", sha="1" * 40)
    held = [await world.take() for _ in range(2)]
    await world.end(held[0], Status.FAILED)
    await world.settle(old)
    again = await begin(world, DEPLOY + "after: {script: x}", sha="2" * 40)
    new = await begin(world, DEPLOY, sha="3" * 40)
    rows = {row.pipeline_id: row for row in await world.rows(job, name="deploy")}
    async with world.database.write() as connection:  # the newest one is quicker than its elders
        await connection.execute(update(job).where(job.c.id == rows[new].id).values(status=Status.SUCCESS))
    taken = await world.take()
    assert (await world.row(job, id=taken)).name == "after"
    failed = await world.row(job, id=rows[again].id)
    assert (failed.status, failed.failure_reason) == ("failed", "failed_outdated_deployment_job")
    await world.settle(again)
    assert (await world.statuses(again))["deploy"] == "failed"
    assert len(await world.rows(job, name="deploy", pipeline_id=again)) == 1  # never retried by itself


@pytest.mark.parametrize("case", ["switched off", "same commit", "newer failed", "retried on purpose"])
async def test_what_is_not_outdated(world: World, case: str) -> None:
    old = await begin(world, DEPLOY, sha="1" * 40)
    old_job = (await world.row(job, pipeline_id=old)).id
    if case == "retried on purpose":
        await run(world, old)
    new = await begin(world, DEPLOY, sha="1" * 40 if case == "same commit" else "2" * 40)
    if case == "retried on purpose":
        await run(world, new)
        await world.settle(old, Command("retry_job", "back", old_job))
        old_job = (await world.row(job, pipeline_id=old, retried=False)).id
    else:
        ended = Status.FAILED if case == "newer failed" else Status.SUCCESS
        async with world.database.write() as connection:  # the newer one is quicker than its elder
            if case == "switched off":
                await projects.change(connection, world.project_id, forward_deployment=False)
            await connection.execute(update(job).where(job.c.pipeline_id == new).values(status=ended))
    assert (await world.take(),) == (old_job,)


async def test_a_name_that_is_none_fails_its_job_alone(world: World) -> None:
    pipeline_id = await begin(world, "deploy: {script: x, environment: review/$NOBODY}\nother: {script: x}")
    taken = await world.take()
    assert (await world.row(job, id=taken)).name == "other"
    row = await world.row(job, name="deploy", pipeline_id=pipeline_id)
    assert (row.status, row.failure_reason) == ("failed", "environment_creation_failure")
    assert await world.rows(environment) == await shown(world) == []


async def test_an_environment_goes_only_when_it_is_stopped_and_comes_back_with_a_retry(world: World) -> None:
    pipeline_id = await begin(world, DEPLOY)
    deployed = await run(world, pipeline_id)
    key = (await the_environment(world)).id
    async with world.database.write() as connection:
        assert not await environments.remove(connection, key)
    await stop(world, key)
    async with world.database.write() as connection:
        assert await environments.remove(connection, key)
    assert await world.rows(environment) == await world.rows(deployment) == []
    await world.settle(pipeline_id, Command("retry_job", "again", deployed))
    row = await the_environment(world)
    assert (row.name, row.tier, row.state) == ("production", "production", "available")
    assert row.id != key
    assert (await world.take()) == (await shown(world))[0].job_id


async def test_deployments_are_filtered_and_ordered(world: World) -> None:
    config = "a: {script: x, environment: one}\nb: {script: x, environment: two}"
    pipeline_id = await begin(world, config)
    await run(world, pipeline_id)
    async with world.database.read() as connection:
        last = await deployment_listings.latest_successful(
            connection, [row.id for row in await world.rows(environment)]
        )
    first, second = await shown(world)
    assert {key: row.id for key, row in last.items()} == {first.environment_id: first.id}
    assert [row.id for row in await shown(world, ascending=False)] == [second.id, first.id]
    assert [row.id for row in await shown(world, environment="two")] == [second.id]
    assert [row.id for row in await shown(world, status="success")] == [first.id]
    assert [row.id for row in await shown(world, status="created")] == [second.id]
    assert [row.id for row in await shown(world, updated_after=first.updated_at)] == [first.id]
    assert [row.id for row in await shown(world, finished_before=first.updated_at)] == [first.id]
    assert [row.id for row in await shown(world, order_by="updated_at")] == [second.id, first.id]
