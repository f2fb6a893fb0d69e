"""What an operator pauses in Temporal: a whole workflow, or the activity that waits for a job."""

import asyncio
import gc
import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

import pytest
from temporalio import workflow
from temporalio.client import Client

import workflows
from api.holders import Holders
from application.pipelines.operations import ask
from domain.messages import Operation
from domain.pipelines.status import Status
from models.repositories.pipelines import pipelines
from tests.models.world import job, outbox_table
from tests.temporal import new_namespace
from tests.waiting import eventually
from tests.workflows.pod import Pod
from tests.workflows.test_asking import Line, services
from tests.workflows.test_operators import PAIR, say
from workflows.await_job import activity_id, workflow_id
from workflows.handles import Pipelines
from workflows.runs import Runs


async def pause(pod: Pod, pipeline_id: int) -> None:
    """Pause a workflow; returns when Temporal lists it so."""
    await say(pod, "workflow", "pause", "--workflow-id", workflow_id(pipeline_id), "--reason", "let me look")
    query = f'WorkflowId = "{workflow_id(pipeline_id)}" AND ExecutionStatus = "Paused"'

    async def listed() -> bool:
        return (await pod.client.count_workflows(query)).count == 1

    await eventually(listed, "the workflow is listed as paused")


async def test_a_paused_workflow_is_open_keeps_results_and_takes_commands_later(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    a, b = await pod.take("a"), await pod.take("b")
    await pause(pod, pipeline_id)
    runs = pod.pipelines.runs
    assert pipeline_id in await runs.opened()
    assert pipeline_id in await runs.at_work()
    latest = await runs.latest(pipeline_id)
    assert latest is not None
    assert (latest.status, latest.is_open) == ("paused", True)
    assert await pod.reconcile(pipeline_id) == []
    asking = services(pod, Line(pod))
    asked = await ask(asking, pipeline_id, "cancel_job", Operation("ada-1", b), pod.world.user_id)
    assert asked.answer is None, "the outbox carries it"
    await pod.end(a)

    async def all_sent() -> bool:
        return all(row.sent_at for row in await pod.world.rows(outbox_table))

    await eventually(all_sent, "Temporal has taken the command and the end of the job")
    assert (await pod.world.row(job, id=b)).status == "running"
    await say(pod, "workflow", "unpause", "--workflow-id", workflow_id(pipeline_id))
    assert await pod.ended(pipeline_id) == "canceled"
    assert await pod.world.statuses(pipeline_id) == {"a": "success", "b": "canceled"}


async def test_a_paused_workflow_is_begun_anew_after_a_restore(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    await pause(pod, pipeline_id)
    async with pod.world.database.read() as connection:
        facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
    await pod.pipelines.start_anew(facts)
    await pod.end(a)
    await pod.run("b", Status.SUCCESS)
    assert await pod.ended(pipeline_id) == "success"


async def test_a_paused_workflow_may_be_terminated(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    await pod.take("a")
    await pause(pod, pipeline_id)
    await say(pod, "workflow", "terminate", "--workflow-id", workflow_id(pipeline_id), "--reason", "enough")
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    assert await pod.ended(pipeline_id) == "canceled"


def workflow_names() -> Iterator[str]:
    """The names of all workflows that there are."""
    for found in pkgutil.iter_modules(workflows.__path__):
        module = import_module(f"workflows.{found.name}")
        for _, kind in inspect.getmembers(module, inspect.isclass):
            definition = workflow._Definition.from_class(kind)
            if definition is not None and kind.__module__ == module.__name__:
                assert definition.name is not None
                yield definition.name


async def test_every_workflow_of_ours_is_ended_also_a_paused_one(pod: Pod) -> None:
    """In a namespace of its own, where nobody carries them out."""
    names = sorted(workflow_names())
    assert {"Pipeline", "HookDelivery"} < set(names)
    namespace = await new_namespace(pod.settings.temporal)
    client = await Client.connect(pod.settings.temporal, namespace=namespace)
    for name in (*names, "SomebodyElses"):
        for mark in ("runs", "paused"):
            await client.start_workflow(name, id=f"{name}-{mark}", task_queue="nobody")
    for name in names:
        await say(pod, "workflow", "pause", "--namespace", namespace, "--workflow-id", f"{name}-paused")

    async def counted() -> list[int]:
        queries = ('ExecutionStatus = "Paused"', 'ExecutionStatus = "Running"')
        return [(await client.count_workflows(query)).count for query in queries]

    async def all_listed() -> bool:
        return await counted() == [len(names), len(names) + 2]

    async def only_others() -> bool:
        return await counted() == [0, 2]

    await eventually(all_listed, "Temporal lists all that was started")
    assert await Runs(client).end_all("for a test") == 2 * len(names)
    await eventually(only_others, "Temporal lists what is somebody else's")


class Heard:
    """Counts the heartbeats on their way to Temporal."""

    def __init__(self, pod: Pod) -> None:
        self._pod = pod
        self.begun = self.ended = 0

    async def show_holder(self, *given: Any) -> None:
        """Send one."""
        self.begun += 1
        try:
            await self._pod.pipelines.show_holder(*given)
        finally:
            self.ended += 1


@pytest.mark.parametrize("operation", ["pause", "reset"])
async def test_the_holder_of_a_job_whose_activity_was_touched_is_no_fault_and_waits_its_turn(
    pod: Pod, operation: str
) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    known = ["--workflow-id", workflow_id(pipeline_id), "--activity-id", activity_id(a)]
    await say(pod, "activity", operation, *known)
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    heard, holders = Heard(pod), Holders()
    holders.pipelines = cast("Pipelines", heard)
    holders.show(pipeline_id, a, "runner 1", 1, "")

    async def once() -> bool:
        return heard.ended == 1

    await eventually(once, "Temporal has answered the heartbeat")
    await asyncio.sleep(0)
    holders.show(pipeline_id, a, "runner 1", 1, "")
    await asyncio.sleep(0)
    assert heard.begun == 1, "at most one a second, also of those that Temporal refuses"
    gc.collect()
    assert faults == []
    asyncio.get_running_loop().set_exception_handler(None)
    await say(pod, "workflow", "cancel", "--workflow-id", workflow_id(pipeline_id))
    assert await pod.ended(pipeline_id) == "canceled"
