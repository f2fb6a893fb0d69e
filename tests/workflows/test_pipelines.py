"""Pipelines from their first job to their end."""

from datetime import timedelta

from domain.pipelines.status import Status
from models.repositories.pipelines import pipelines
from tests.models.world import job, pipeline
from tests.waiting import eventually
from tests.workflows.pod import Pod
from workflows import search_attributes

LINEAR = """
    stages: [build, test]
    build: {stage: build, script: make}
    test: {stage: test, script: make test}
"""
NEEDS = """
    stages: [build, test]
    slow: {stage: build, script: a}
    quick: {stage: build, script: b}
    after-quick: {stage: test, script: c, needs: [quick]}
    after-all: {stage: test, script: d}
"""


async def test_a_linear_pipeline_succeeds(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    await pod.run("build")
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"
    assert await pod.handle(pipeline_id).result() == "success"
    assert await pod.world.stages(pipeline_id) == {"build": "success", "test": "success"}
    row = await pod.world.row(pipeline, id=pipeline_id)
    assert row.created_at <= row.started_at <= row.finished_at

    async def nothing_left() -> bool:
        return await pod.unsent() == []

    await eventually(nothing_left, "every outbox row is retired")


async def test_the_search_attributes_follow_the_pipeline(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    await pod.run("build", Status.FAILED)
    await pod.ended(pipeline_id)
    shown = (await pod.handle(pipeline_id).describe()).typed_search_attributes
    assert shown[search_attributes.STATUS] == "failed"
    assert shown[search_attributes.PROJECT] == "acme/tool"
    assert shown[search_attributes.PIPELINE_ID] == pipeline_id


async def test_a_failure_skips_what_comes_after_it(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    await pod.run("build", Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    assert await pod.world.statuses(pipeline_id) == {"build": "failed", "test": "skipped"}
    assert await pod.world.claim() is None


async def test_a_job_with_needs_does_not_wait_for_its_stage(pod: Pod) -> None:
    pipeline_id = await pod.create(NEEDS)
    slow, quick = await pod.take("slow"), await pod.take("quick")
    await pod.end(quick)
    await pod.run("after-quick")
    assert (await pod.world.statuses(pipeline_id))["after-all"] == "created"
    await pod.end(slow)
    await pod.run("after-all")
    assert await pod.ended(pipeline_id) == "success"


async def test_an_automatic_retry_runs_before_anybody_sees_the_failure(pod: Pod) -> None:
    pipeline_id = await pod.create("""
        stages: [build, test]
        unsteady: {stage: build, script: a, retry: 1}
        mourn: {stage: test, script: b, when: on_failure}
        go-on: {stage: test, script: c}
    """)
    first = await pod.run("unsteady", Status.FAILED)
    second = await pod.run("unsteady")
    await pod.run("go-on")
    assert await pod.ended(pipeline_id) == "success"
    assert await pod.world.statuses(pipeline_id) == {"unsteady": "success", "mourn": "skipped", "go-on": "success"}
    assert [row.id for row in await pod.world.rows(job, first_id=first)] == [first, second]


async def test_a_delayed_job_starts_when_its_timer_fires(pod: Pod) -> None:
    pipeline_id = await pod.create("later: {script: a, when: delayed, start_in: 1 second}\n")
    await pod.until(pipeline_id, later="scheduled")
    later = await pod.run("later")
    assert await pod.ended(pipeline_id) == "success"
    row = await pod.world.row(job, id=later)
    assert row.queued_at - row.created_at >= timedelta(seconds=1)
    events = (await pod.handle(pipeline_id).fetch_history()).events
    assert any(event.HasField("timer_fired_event_attributes") for event in events)


async def test_an_offered_job_has_its_activity_before_a_runner_can_see_it(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    build = await pod.take("build")
    names = [
        (event.activity_task_scheduled_event_attributes.activity_type.name, number)
        for number, event in enumerate((await pod.handle(pipeline_id).fetch_history()).events)
        if event.HasField("activity_task_scheduled_event_attributes")
    ]
    order = dict(names)
    assert order["await_job"] < order["offer_jobs"]
    await pod.end(build, Status.FAILED)
    await pod.ended(pipeline_id)


async def test_two_relays_start_a_pipeline_once(pod: Pod) -> None:
    await pod.stop_relay()
    pipeline_id = await pod.create("one: {script: a}\n")
    async with pod.world.database.read() as connection:
        facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
    await pod.pipelines.start(facts)
    assert await pod.relay.send_due() == 1
    assert await pod.unsent() == []
    pod.start_relay()
    await pod.run("one")
    assert await pod.ended(pipeline_id) == "success"
