"""What pages and the API show of a pipeline at rest is what its rows say, also where something went wrong before."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

import activities.pipelines
from domain.messages import Load, Page
from models.repositories.pipelines import loading
from tests.models.world import pipeline, stage
from tests.waiting import eventually
from tests.workflows.pod import Pod

GATE = """
    auto: {script: "true"}
    hand: {script: "true", rules: [{when: manual}]}
"""


async def page_of_an_older_version(connection: AsyncConnection, order: Load) -> Page:
    """What a version read that did not look at the statuses of stages."""
    return replace(await loading.page(connection, order), shown=None)


async def shows(pod: Pod, pipeline_id: int, status: str) -> None:
    """Wait until pipeline and stage have this status."""

    async def look() -> bool:
        stages = await pod.world.stages(pipeline_id)
        return [await pod.world.status(pipeline_id), *stages.values()] == [status, status]

    await eventually(look, f"the pipeline is shown as {status}")


async def test_a_pipeline_that_waits_for_a_person_says_so(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE)
    await pod.run("auto")
    await shows(pod, pipeline_id, "manual")


async def test_a_status_that_is_not_its_rows_is_mended_by_reading_again(pod: Pod) -> None:
    pipeline_id = await pod.create(GATE)
    await pod.run("auto")
    await shows(pod, pipeline_id, "manual")
    async with pod.world.database.write() as connection:
        await connection.execute(update(pipeline).where(pipeline.c.id == pipeline_id).values(status="running"))
        await connection.execute(update(stage).where(stage.c.pipeline_id == pipeline_id).values(status="running"))
    await pod.handle(pipeline_id).signal("reconcile")
    await shows(pod, pipeline_id, "manual")


async def test_a_run_of_an_older_version_is_mended_by_reading_again(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes on by the rule with which its history began, until the reconciler has it read SQL again."""
    reconcile = pod.reconciler.reconcile
    with monkeypatch.context() as older:
        older.setattr(activities.pipelines, "loading", SimpleNamespace(page=page_of_an_older_version))
        pipeline_id = await pod.create(GATE)
        auto = await pod.run("auto")

        async def has_heard() -> bool:
            (bell,) = await pod.world.outbox(pipeline_id, "outcome")
            return bell.sent_at is not None and bool(await pod.handle(pipeline_id).query("status"))

        await eventually(has_heard, f"the workflow was told of job {auto}")
        assert await pod.world.status(pipeline_id) == "running"
    await eventually(reconcile, "the reconciler has found it")
    await shows(pod, pipeline_id, "manual")


async def test_a_canceled_pipeline_leaves_nothing_in_the_outbox(pod: Pod) -> None:
    pipeline_id = await pod.create("one: {script: x}\ntwo: {script: y}\n")
    await pod.take("one")
    await pod.ask(pipeline_id, "cancel_pipeline")
    assert await pod.ended(pipeline_id) == "canceled"
    assert await pod.unsent() == []


async def test_a_cancel_and_a_retry_of_one_moment_are_obeyed_in_their_order(pod: Pod) -> None:
    """The job is open when both arrive; no worker runs until they have."""
    pipeline_id = await pod.create("stages: [a, b]\none: {stage: a, script: x}\ntwo: {stage: b, script: y}\n")
    await pod.take("one")
    await pod.stop_worker()
    await pod.handle(pipeline_id).signal("cancel_pipeline")
    await pod.handle(pipeline_id).signal("retry_pipeline")
    await pod.start_worker()
    await pod.until(pipeline_id, one="pending", two="created")
    await pod.run("one")
    await pod.run("two")
    assert await pod.ended(pipeline_id) == "success"
