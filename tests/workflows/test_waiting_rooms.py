"""Pipelines with more open jobs than their workflow waits for itself."""

import json

import pytest
from temporalio.client import WorkflowExecutionStatus

from domain.pipelines.status import Status
from tests.models.world import job
from tests.waiting import eventually
from tests.workflows.pod import Pod
from workflows import job_waits
from workflows.await_job import workflow_id

WIDE = """
    stages: [build, test]
    build: {stage: build, script: make, parallel: 12}
    test: {stage: test, script: make test}
"""


@pytest.fixture(autouse=True)
def small_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workflow waits for three jobs itself, a room for four."""
    monkeypatch.setattr(job_waits, "OWN_JOBS", 3)
    monkeypatch.setattr(job_waits, "ROOM_JOBS", 4)


async def rooms_of(pod: Pod, pipeline_id: int) -> set[str]:
    """The rooms that wait for jobs of the pipeline, as SQL has it; the empty one is the workflow itself."""
    return {row.room for row in await pod.world.rows(job, pipeline_id=pipeline_id)}


async def everything_offered(pod: Pod, pipeline_id: int, count: int) -> None:
    """Wait until so many jobs are pending."""

    async def look() -> bool:
        rows = await pod.world.rows(job, pipeline_id=pipeline_id)
        return sum(1 for row in rows if row.status == Status.PENDING) == count

    await eventually(look, f"{count} jobs are pending", 60)


async def run_all(pod: Pod, count: int, status: Status = Status.SUCCESS) -> list[int]:
    """Let runners carry out so many jobs."""
    ended = []
    for number in range(1, count + 1):
        ended.append(await pod.run(f"build {number}/{count}", status))
    return ended


async def test_jobs_beyond_the_capacity_wait_in_rooms(pod: Pod) -> None:
    pipeline_id = await pod.create(WIDE)
    await everything_offered(pod, pipeline_id, 12)
    rooms = await rooms_of(pod, pipeline_id)
    assert len(rooms) == 4
    assert "" not in rooms or len(rooms) > 1
    await run_all(pod, 12)
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"
    for room in rooms - {""}:

        async def closed(name: str = room) -> bool:
            found = await pod.client.get_workflow_handle(name).describe()
            return found.status is WorkflowExecutionStatus.COMPLETED

        await eventually(closed, f"{room} is closed")


async def test_a_failure_in_a_room_is_tried_again_in_its_turn(pod: Pod) -> None:
    pipeline_id = await pod.create("a: {script: x, parallel: 9, retry: 1}\n")
    await everything_offered(pod, pipeline_id, 9)
    for number in range(1, 10):
        await pod.run(f"a {number}/9", Status.FAILED)
    for number in range(1, 10):
        await pod.run(f"a {number}/9")
    assert await pod.ended(pipeline_id) == "success"
    assert len(await pod.world.rows(job, pipeline_id=pipeline_id)) == 18


async def test_a_new_run_asks_every_open_room(pod: Pod) -> None:
    """The pipeline's workflow is terminated while its rooms live on; jobs end before a new run is there."""
    pipeline_id = await pod.create(WIDE)
    await everything_offered(pod, pipeline_id, 12)
    rooms = await rooms_of(pod, pipeline_id)
    await pod.stop_relay()
    await pod.stop_worker()
    run = (await pod.handle(pipeline_id).describe()).run_id
    for number in (1, 6, 12):
        await pod.run(f"build {number}/12")
    await pod.start_worker()
    await pod.handle(pipeline_id).execute_update("reconcile")
    assert (await pod.handle(pipeline_id).describe()).run_id == run
    pod.start_relay()
    for number in {*range(1, 13)} - {1, 6, 12}:
        await pod.run(f"build {number}/12")
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"
    assert await rooms_of(pod, pipeline_id) >= rooms - {""}


async def test_jobs_of_a_room_that_is_gone_are_housed_again(pod: Pod) -> None:
    pipeline_id = await pod.create(WIDE)
    await everything_offered(pod, pipeline_id, 12)
    rooms = await rooms_of(pod, pipeline_id)
    gone = min(rooms - {""})
    await pod.client.get_workflow_handle(gone).terminate("test")
    await pod.handle(pipeline_id).execute_update("reconcile")
    assert gone not in await rooms_of(pod, pipeline_id)
    await run_all(pod, 12)
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"


async def test_canceling_reaches_jobs_in_rooms(pod: Pod) -> None:
    pipeline_id = await pod.create(WIDE)
    await everything_offered(pod, pipeline_id, 12)
    await pod.ask(pipeline_id, "cancel_pipeline")
    assert await pod.ended(pipeline_id) == "canceled"


async def test_a_job_in_a_room_completed_by_hand_has_that_outcome(pod: Pod) -> None:
    pipeline_id = await pod.create("a: {script: x, parallel: 5}\n")
    await everything_offered(pod, pipeline_id, 5)
    row = next(row for row in await pod.world.rows(job, pipeline_id=pipeline_id) if row.room)
    handle = pod.client.get_async_activity_handle(workflow_id=row.room, run_id=None, activity_id=f"job-{row.id}")
    await handle.complete({"job_id": row.id, "status": "success"})
    await pod.until(pipeline_id, **{row.name: "success"})
    await pod.ask(pipeline_id, "cancel_pipeline")
    assert await pod.ended(pipeline_id) == "canceled"


async def test_histories_stay_small(pod: Pod) -> None:
    pipeline_id = await pod.create(WIDE)
    await everything_offered(pod, pipeline_id, 12)
    await run_all(pod, 12)
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"
    for name in {workflow_id(pipeline_id), *(await rooms_of(pod, pipeline_id) - {""})}:
        history = await pod.client.get_workflow_handle(name).fetch_history()
        assert all(len(json.dumps(event)) < 50_000 for event in history.to_json_dict()["events"])
