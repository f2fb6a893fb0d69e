"""Environments from end to end: deployed, stopped by the clock, never deployed backwards, whatever is killed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from textwrap import dedent

from domain.pipelines.status import Status
from loops.environments import EnvironmentLoop
from models.clock import system_clock
from models.columns import table_of
from models.notifications import OUTBOX
from models.repositories.environments import protected_environments
from models.repositories.owner import Owner
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.tables.environments import Deployment, Environment
from models.tables.outbox import OperationKey
from tests.compiling import plan_of
from tests.models.world import job, outbox_table
from tests.waiting import eventually
from tests.workflows.pod import Pod

environment = table_of(Environment)
deployment = table_of(Deployment)
operation_key = table_of(OperationKey)

WITHIN = 60.0
REVIEW = """
    stages: [deploy, cleanup]
    deploy:
      stage: deploy
      script: x
      environment: {name: review, on_stop: stop, auto_stop_in: 1 second}
    stop:
      stage: cleanup
      script: x
      when: manual
      environment: {name: review, action: stop}
"""
SLOW = """
    stages: [build, deploy]
    build: {stage: build, script: x}
    deploy: {stage: deploy, script: x, environment: production}
    report: {stage: deploy, script: x}
"""
QUICK = """
    deploy: {script: x, environment: production}
"""


@asynccontextmanager
async def two_loops(pod: Pod) -> AsyncIterator[None]:
    """Two processes whose loops look for what is due all the time."""
    loops = [EnvironmentLoop(pod.world.database, pod.notifications, system_clock, 0.02) for _ in range(2)]
    tasks = [asyncio.create_task(loop.run()) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def create(pod: Pod, config: str, sha: str) -> int:
    """A pipeline of a commit."""
    request = PipelineRequest(pod.world.project_id, pod.world.user_id, "main", sha, "push")
    async with pod.world.database.write() as connection:
        made = await pipelines.create(connection, request, plan_of(dedent(config)), system_clock(), seal=str)
    await pod.notifications.notify(OUTBOX)
    return made


async def becomes(pod: Pod, state: str) -> None:
    """Wait until the one environment is in that state."""

    async def look() -> bool:
        return bool((await pod.world.row(environment)).state == state)

    await eventually(look, f"the environment is {state}", WITHIN)


async def test_two_loops_stop_an_environment_once_by_its_stop_job(pod: Pod) -> None:
    pipeline_id = await pod.create(REVIEW)
    await pod.run("deploy")
    assert await pod.ended(pipeline_id) == "success"
    assert (await pod.world.row(environment)).state == "available"
    async with two_loops(pod):
        stop = await pod.take("stop")
        assert (await pod.world.row(environment)).state == "stopping"
        await pod.end(stop)
        await becomes(pod, "stopped")
        assert await pod.ended(pipeline_id) == "success"
    commands = [row.answer["name"] for row in await pod.world.rows(operation_key, pipeline_id=pipeline_id)]
    assert commands == ["play_job"]
    assert [row.id for row in await pod.world.rows(job, name="stop")] == [stop]
    assert len(await pod.world.rows(deployment)) == 1


async def test_a_stopped_environment_lives_again_with_its_next_deployment(pod: Pod) -> None:
    first = await pod.create(REVIEW)
    await pod.run("deploy")
    await pod.ended(first)
    async with two_loops(pod):
        await pod.run("stop")
        await becomes(pod, "stopped")
    second = await pod.create(REVIEW)
    await pod.run("deploy")
    await pod.ended(second)
    row = await pod.world.row(environment)
    assert row.state == "available"
    assert row.auto_stop_at is not None
    assert [item.iid for item in await pod.world.rows(deployment)] == [1, 2]


async def test_an_older_pipeline_does_not_deploy_over_a_newer_one(pod: Pod) -> None:
    old = await create(pod, SLOW, "1" * 40)
    build = await pod.take("build")
    new = await create(pod, QUICK, "2" * 40)
    await pod.run("deploy")
    assert await pod.ended(new) == "success"
    await pod.end(build)
    await pod.run("report")  # whoever asks for a job passes by the outdated one
    assert await pod.ended(old) == "failed"
    row = await pod.world.row(job, pipeline_id=old, name="deploy")
    assert (row.status, row.failure_reason) == ("failed", "failed_outdated_deployment_job")
    statuses = {item.job_id: item.sha for item in await pod.world.rows(deployment)}
    assert set(statuses.values()) == {"1" * 40, "2" * 40}


async def test_a_retry_goes_back_on_purpose(pod: Pod) -> None:
    old = await create(pod, QUICK, "1" * 40)
    deployed = await pod.run("deploy")
    assert await pod.ended(old) == "success"
    new = await create(pod, QUICK, "2" * 40)
    await pod.run("deploy")
    assert await pod.ended(new) == "success"
    await pod.ask(old, "retry_job", deployed)
    await pod.run("deploy")
    assert await pod.ended(old) == "success"
    assert [item.sha[0] for item in await pod.world.rows(deployment)] == ["1", "2", "1"]


async def test_nothing_is_doubled_when_all_is_killed_between_claim_and_verdict(pod: Pod) -> None:
    pipeline_id = await pod.create(REVIEW)
    deploy = await pod.take("deploy")
    await pod.stop_relay()
    await pod.stop_worker()
    await pod.end(deploy)
    async with two_loops(pod):
        await is_due(pod)  # it waits: nobody has brought the pipeline to its stop job
        assert await commands_in_outbox(pod) == []
        await pod.start()
        await becomes(pod, "stopping")
    await pod.stop_relay()
    await pod.stop_worker()
    async with two_loops(pod):
        await pod.start()
        stop = await pod.take("stop")
        await pod.stop_relay()
        await pod.stop_worker()
        await pod.end(stop)
        await becomes(pod, "stopped")
        await pod.start()
        assert await pod.ended(pipeline_id) == "success"
    assert [(row.name, row.status) for row in await pod.world.rows(job)] == [("deploy", "success"), ("stop", "success")]
    assert [row.job_id for row in await pod.world.rows(deployment)] == [deploy]
    assert await pod.unsent() == []


async def is_due(pod: Pod) -> None:
    """Wait until a loop has looked at the environment after its time had come."""
    planned = (await pod.world.row(environment)).auto_stop_at

    async def look() -> bool:
        row = await pod.world.row(environment)
        return bool(row.state == "available" and row.auto_stop_at > planned)

    await eventually(look, "a loop has seen that the stop job cannot be played yet", WITHIN)


async def commands_in_outbox(pod: Pod) -> list[str]:
    """What is still to be told to workflows."""
    return [row.payload["name"] for row in await pod.world.rows(outbox_table, kind="command")]


async def test_a_canceled_deployment_leaves_no_environment_behind_that_waits(pod: Pod) -> None:
    pipeline_id = await pod.create(REVIEW)
    await pod.take("deploy")
    await pod.ask(pipeline_id, "cancel_pipeline")
    assert await pod.ended(pipeline_id) == "canceled"
    row = await pod.world.row(environment)
    assert (row.state, row.auto_stop_at) == ("available", None)
    loop = EnvironmentLoop(pod.world.database, pod.notifications, lambda: system_clock() + timedelta(hours=2), 1)
    assert await loop.stop_due() == []
    assert (await pod.world.row(job, name="deploy")).status == Status.CANCELED


async def test_a_job_that_may_not_deploy_ends_its_pipeline_and_runs_when_somebody_may(pod: Pod) -> None:
    async with pod.world.database.write() as connection:
        holder = Owner(project_id=pod.world.project_id)
        rule_id = await protected_environments.add(connection, holder, "production", system_clock())
        values = {"access_level": 60, "user_id": None, "group_id": None, "group_inheritance_type": 0}
        await protected_environments.add_level(connection, rule_id, **values)
    pipeline_id = await pod.create(QUICK)
    assert await pod.ended(pipeline_id) == "failed"
    refused = await pod.world.row(job, pipeline_id=pipeline_id)
    assert (refused.failure_reason, refused.started_at) == ("protected_environment_failure", None)
    async with pod.world.database.write() as connection:
        await protected_environments.add_level(connection, rule_id, **{**values, "access_level": 30})
    await pod.ask(pipeline_id, "retry_job", refused.id)
    await pod.run("deploy")
    assert await pod.ended(pipeline_id) == "success"
    assert await pod.unsent() == []
