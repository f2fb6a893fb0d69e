"""Workers that die, histories that are lost, people who act in Temporal by hand."""

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest

from domain.pipelines.status import Status
from tests.models.world import job
from tests.temporal import new_namespace
from tests.waiting import eventually
from tests.workflows.pod import Pod
from workflows.await_job import workflow_id

LINEAR = """
    stages: [build, test]
    build: {stage: build, script: make}
    test: {stage: test, script: make test}
"""


async def lose_everything(pod: Pod) -> None:
    """Temporal comes back empty: from now on the pod works with a namespace that knows no workflow."""
    await pod.close()
    await pod.join(await new_namespace(pod.settings.temporal))


async def delete(pod: Pod, pipeline_id: int) -> None:
    """Terminate the workflow and delete its history; Temporal takes up to a minute for that."""
    await pod.handle(pipeline_id).terminate("test")
    request = DeleteWorkflowExecutionRequest(
        namespace=pod.client.namespace, workflow_execution=WorkflowExecution(workflow_id=workflow_id(pipeline_id))
    )
    await pod.client.workflow_service.delete_workflow_execution(request)

    async def gone() -> bool:
        return await pod.state(pipeline_id) is None

    await eventually(gone, "the workflow is deleted", 90)


async def test_another_worker_goes_on_where_one_has_died(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    build = await pod.take("build")
    await pod.stop_worker()
    await pod.end(build)
    await pod.until(pipeline_id, build="success", test="created")
    await pod.start_worker()
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"


async def test_nothing_is_lost_while_neither_worker_nor_relay_run(pod: Pod) -> None:
    await pod.stop_worker()
    await pod.stop_relay()
    pipeline_id = await pod.create(LINEAR)
    pod.start_relay()
    await pod.start_worker()
    build = await pod.take("build")
    await pod.stop_relay()
    await pod.end(build)
    assert await pod.unsent() == ["outcome"]
    pod.start_relay()
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"


async def test_sql_alone_rebuilds_an_empty_temporal(pod: Pod) -> None:
    """Everything is gone while one job runs and another has just ended."""
    pipeline_id = await pod.create("a: {script: x}\nb: {script: y}\nc: {stage: deploy, script: z}\n")
    a, b = await pod.take("a"), await pod.take("b")
    await pod.stop_relay()
    await pod.end(a)
    await lose_everything(pod)
    await pod.start_worker()
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    pod.start_relay()
    await pod.end(b)
    await pod.run("c")
    assert await pod.ended(pipeline_id) == "success"
    assert [row.attempt for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == [1, 1, 1]


@pytest.mark.slow
async def test_a_workflow_that_was_terminated_and_deleted_goes_on_from_sql(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    build = await pod.take("build")
    await delete(pod, pipeline_id)
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    await pod.end(build)
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_manual_job_is_played_after_its_history_was_lost(pod: Pod) -> None:
    pipeline_id = await pod.create("gate: {script: x, when: manual, allow_failure: false}\n")
    await pod.until(pipeline_id, gate="manual")
    await lose_everything(pod)
    await pod.start()
    await pod.ask(pipeline_id, "play_job", (await pod.world.row(job, pipeline_id=pipeline_id)).id)
    await pod.run("gate")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_workflow_that_was_terminated_by_hand_is_settled_as_canceled(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    await pod.take("build")
    await pod.terminate(pipeline_id)
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    assert await pod.ended(pipeline_id) == "canceled"
    assert await pod.world.statuses(pipeline_id) == {"build": "canceled", "test": "canceled"}


async def test_a_healthy_pipeline_is_left_alone(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    await pod.take("build")
    before = (await pod.handle(pipeline_id).describe()).run_id
    assert await pod.reconcile(pipeline_id) == []
    assert (await pod.handle(pipeline_id).describe()).run_id == before
    history = await pod.handle(pipeline_id).fetch_history()
    assert not any(event.HasField("workflow_execution_signaled_event_attributes") for event in history.events)


async def test_the_relay_mends_a_pipeline_whose_activity_temporal_does_not_know(pod: Pod) -> None:
    """NOT_FOUND on an outcome that nobody folded: after a while the workflow is told to read SQL again."""
    pipeline_id = await pod.create(LINEAR)
    build = await pod.take("build")
    await lose_everything(pod)
    await pod.start()
    await pod.end(build)
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_job_completed_by_hand_in_temporal_has_that_outcome(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    build = await pod.take("build")
    await pod.activity(pipeline_id, build).complete({"job_id": build, "status": "success"})
    await pod.until(pipeline_id, build="success", test="pending")
    assert await pod.world.end(build, hand_out=1) == []
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_job_failed_by_hand_in_temporal_has_failed(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    build = await pod.take("build")
    await pod.activity(pipeline_id, build).fail(RuntimeError("stopped by hand"))
    assert await pod.ended(pipeline_id) == "failed"
    assert await pod.world.statuses(pipeline_id) == {"build": "failed", "test": "skipped"}
    assert (await pod.world.row(job, id=build)).failure_reason == "unknown_failure"


async def test_a_job_failed_by_hand_may_be_one_that_is_allowed_to(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR.replace("script: make}", "script: make, allow_failure: true}"))
    build = await pod.take("build")
    await pod.activity(pipeline_id, build).fail(RuntimeError("stopped by hand"))
    await pod.run("test")
    assert await pod.ended(pipeline_id) == "success"
    assert (await pod.world.row(job, id=build)).status == Status.FAILED
