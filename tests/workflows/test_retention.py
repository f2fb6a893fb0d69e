"""Retention deletes closed workflows with their histories; the pipelines stay, and can be asked for more."""

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest

from domain.pipelines.status import Status
from tests.models.world import job
from tests.waiting import eventually
from tests.workflows.pod import Pod
from workflows.await_job import workflow_id

LINEAR = """
    stages: [build, test, deploy]
    build: {stage: build, script: make}
    test: {stage: test, script: make test}
    deploy: {stage: deploy, script: make deploy}
"""
GONE_WITHIN = 90.0
"""Temporal deletes in the background; it takes up to a minute."""


async def forget(pod: Pod, pipeline_id: int) -> None:
    """Have the closed workflow deleted, and wait until Temporal knows nothing of it."""
    request = DeleteWorkflowExecutionRequest(
        namespace=pod.client.namespace, workflow_execution=WorkflowExecution(workflow_id=workflow_id(pipeline_id))
    )
    await pod.client.workflow_service.delete_workflow_execution(request)

    async def gone() -> bool:
        return await pod.state(pipeline_id) is None

    await eventually(gone, "the workflow is deleted", GONE_WITHIN)


@pytest.mark.slow
async def test_a_job_is_retried_after_the_history_of_its_pipeline_was_deleted(pod: Pod) -> None:
    pipeline_id = await pod.create(LINEAR)
    await pod.run("build")
    failed = await pod.run("test", Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    await forget(pod, pipeline_id)

    answer = await pod.ask(pipeline_id, "retry_job", failed, key="once")
    again = await pod.run("test")
    assert answer.jobs == (again,)
    await pod.run("deploy")
    assert await pod.ended(pipeline_id) == "success"
    rows = await pod.world.rows(job, pipeline_id=pipeline_id)
    assert [(row.name, row.attempt, row.status) for row in rows] == [
        ("build", 1, "success"),
        ("test", 1, "failed"),
        ("deploy", 1, "success"),
        ("test", 2, "success"),
    ]


@pytest.mark.slow
async def test_an_operation_is_not_repeated_when_its_history_was_deleted(pod: Pod) -> None:
    """The key of a command is kept in SQL, not in the history."""
    pipeline_id = await pod.create(LINEAR)
    failed = await pod.run("build", Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    first = await pod.ask(pipeline_id, "retry_job", failed, key="once")
    await pod.run("build", Status.FAILED)
    assert await pod.ended(pipeline_id) == "failed"
    await forget(pod, pipeline_id)

    assert await pod.ask(pipeline_id, "retry_job", failed, key="once") == first
    rows = await pod.world.rows(job, pipeline_id=pipeline_id, name="build")
    assert [(row.attempt, row.status) for row in rows] == [(1, "failed"), (2, "failed")]
