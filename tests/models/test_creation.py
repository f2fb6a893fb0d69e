"""A pipeline is written whole, or not at all."""

import pytest
from sqlalchemy.exc import IntegrityError

from domain.config.plan import RetryPolicy, When
from domain.errors import NotFound
from domain.pipelines.status import Status
from models.repositories.pipelines import loading, pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from tests.compiling import plan_of
from tests.models.world import BEGIN, World, job, outbox_table, pipeline, stage

RICH = """
    stages: [build, test]
    variables: {COLOUR: blue}
    compile: {stage: build, script: make, tags: [linux, big], timeout: 10 minutes, retry: {max: 2, when: [api_failure]}}
    later: {stage: test, script: wait, when: delayed, start_in: 1 minute, needs: [compile]}
    gate: {stage: test, script: go, when: manual, allow_failure: {exit_codes: [3]}}
"""


async def test_pipeline_stages_jobs_and_the_start_of_the_workflow_are_one_transaction(world: World) -> None:
    pipeline_id = await world.create()
    assert await world.status(pipeline_id) == "created"
    assert await world.stages(pipeline_id) == {"build": "created", "test": "created"}
    assert await world.statuses(pipeline_id) == {"build": "created", "test": "created"}
    assert [row.kind for row in await world.outbox(pipeline_id, "start")] == ["start"]


async def test_a_creation_that_fails_leaves_nothing(world: World) -> None:
    request = PipelineRequest(world.project_id, world.user_id + 77, "main", "c0ffee", "push")
    plan = plan_of("one: {script: x}\n")

    async def create() -> None:
        async with world.database.write() as connection:
            await pipelines.create(connection, request, plan, BEGIN, seal=str)

    with pytest.raises(IntegrityError):
        await create()
    for table in (pipeline, stage, job, outbox_table):
        assert list(await world.rows(table)) == []


async def test_what_was_planned_is_what_decisions_see(world: World) -> None:
    loaded = await world.load(await world.create(RICH))
    jobs = loaded.pipeline.by_name
    assert loaded.pipeline.stages == ("build", "test")
    assert jobs["compile"].retry == RetryPolicy(2, ("api_failure",))
    assert jobs["compile"].needs is None
    assert (jobs["later"].when, jobs["later"].start_in, jobs["later"].needs) == (When.DELAYED, 60, ("compile",))
    assert (jobs["gate"].when, jobs["gate"].allow_failure) == (When.MANUAL, False)


async def test_rows_keep_what_only_the_hand_out_needs(world: World) -> None:
    row = await world.row(job, pipeline_id=await world.create(RICH), name="compile")
    assert row.plan["script"] == ["make"]
    assert row.plan["variables"]["COLOUR"]["value"] == "blue"
    assert (row.tags, row.timeout, row.first_id, row.attempt) == (["linux", "big"], 600, row.id, 1)
    gate = await world.row(job, name="gate")
    assert (gate.exit_codes_allowed, gate.timeout) == ([3], 3600)


async def test_each_project_counts_its_pipelines_from_one(world: World) -> None:
    made = [await world.create() for _ in range(3)]
    assert [(await world.row(pipeline, id=key)).iid for key in made] == [1, 2, 3]


async def test_a_pipeline_that_could_not_be_made_has_ended_and_starts_nothing(world: World) -> None:
    request = PipelineRequest(world.project_id, world.user_id, "main", "c0ffee", "push")
    async with world.database.write() as connection:
        made = await pipelines.create_ended(
            connection, request, Status.FAILED, BEGIN, seal=str, reason="config_error", errors="wrong"
        )
    row = await world.row(pipeline, id=made)
    assert (row.status, row.failure_reason, row.yaml_errors) == ("failed", "config_error", "wrong")
    assert row.finished_at == BEGIN
    assert list(await world.rows(outbox_table)) == []


async def test_loading_what_is_not_there_says_so(world: World) -> None:
    async with world.database.read() as connection:
        with pytest.raises(NotFound, match="Pipeline 99 does not exist"):
            await loading.load(connection, 99)
