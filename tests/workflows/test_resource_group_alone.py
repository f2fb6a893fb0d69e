"""The workflow of a resource group by itself: the test is SQL, and small workflows stand for the pipelines."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError
from temporalio.worker import (
    ExecuteWorkflowInput,
    Interceptor,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from domain.messages import ChooseNext, Chosen, GroupInput, Operation
from tests.waiting import eventually
from workflows import resource_group
from workflows.await_job import workflow_id
from workflows.handles import Pipelines
from workflows.ports import GroupPort
from workflows.resource_group import ResourceGroupWorkflow, group_workflow_id

WITHIN = 60.0
NOBODY = Chosen(waiting=False)
HELD = Chosen(waiting=True)
numbers = count(9_000_000)
"""Ids that no pod of this run has."""


class Sql(GroupPort):
    """Answers as it is told; the last response stays. `orders` is what was asked."""

    def __init__(self, *responses: Chosen) -> None:
        self.answers = deque(responses)
        self.orders: list[ChooseNext] = []
        self.reading = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    @activity.defn(name="choose_next")
    async def choose_next(self, order: ChooseNext) -> Chosen:
        """What SQL said when it was read; the response may take its time."""
        self.orders.append(order)
        response = self.answers[0] if len(self.answers) == 1 else self.answers.popleft()
        self.reading.set()
        await self.may_answer.wait()
        return response

    def unreachable(self) -> list[tuple[int, ...]]:
        """Who was passed over, look by look."""
        return [order.unreachable for order in self.orders]


@workflow.defn(name="Pipeline")
class Waiter:
    """A pipeline that only remembers what it was granted, until that is a job with id 0."""

    def __init__(self) -> None:
        self.granted: list[int] = []

    @workflow.signal
    def resource_granted(self, operation: Operation) -> None:
        """Remember."""
        self.granted.append(operation.job_id or 0)

    @workflow.query
    def told(self) -> list[int]:
        """What was granted."""
        return self.granted

    @workflow.run
    async def run(self) -> None:
        """Wait for the end."""
        await workflow.wait_condition(lambda: 0 in self.granted)


class Stage:
    """One group, its worker, and whatever pipelines a test wants."""

    def __init__(self, client: Client, queue: str) -> None:
        self.client = client
        self.queue = queue
        self.group_id = next(numbers)
        self.pipelines = Pipelines(client, queue)

    @property
    def group(self) -> WorkflowHandle[Any, Any]:
        """The group's workflow."""
        return self.client.get_workflow_handle(group_workflow_id(self.group_id))

    async def look(self) -> None:
        """As the relay does it."""
        await self.pipelines.look(self.group_id)

    async def pipeline(self) -> int:
        """A pipeline that waits; its id."""
        pipeline_id = next(numbers)
        await self.client.start_workflow(Waiter.run, id=workflow_id(pipeline_id), task_queue=self.queue)
        return pipeline_id

    async def granted(self, pipeline_id: int) -> list[int]:
        """What a pipeline was granted so far."""
        return await self.client.get_workflow_handle(workflow_id(pipeline_id)).query(Waiter.told)

    async def until_granted(self, pipeline_id: int, *job_ids: int) -> None:
        """Wait until the pipeline was granted these."""

        async def look() -> bool:
            return await self.granted(pipeline_id) == list(job_ids)

        await eventually(look, f"pipeline {pipeline_id} is granted {job_ids}", WITHIN)

    async def ended(self) -> None:
        """Wait until the group's workflow is over."""
        await asyncio.wait_for(self.group.result(), WITHIN)

    async def tasks(self) -> int:
        """How many workflow tasks of the group are done."""
        done = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        return sum([event.event_type == done async for event in self.group.fetch_history_events()])


class EndsLate(Interceptor):
    """Stops a workflow between its last word and Temporal's hearing it, once."""

    def __init__(self) -> None:
        self.has_ended = threading.Event()
        self.may_say_so = threading.Event()

    def workflow_interceptor_class(self, _given: WorkflowInterceptorClassInput) -> type[WorkflowInboundInterceptor]:
        """The class that is told of each run."""
        point = self

        class Inbound(WorkflowInboundInterceptor):
            async def execute_workflow(self, given: ExecuteWorkflowInput) -> Any:
                result = await super().execute_workflow(given)
                point.has_ended.set()
                assert point.may_say_so.wait(WITHIN)
                return result

        return Inbound


@asynccontextmanager
async def stage(address: str, sql: Sql, *interceptors: Interceptor) -> AsyncIterator[Stage]:
    """A worker with a queue of its own, whose workflows may stand still in the middle of a task."""
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    queue = f"group-{uuid4()}"
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[ResourceGroupWorkflow, Waiter],
        activities=[sql.choose_next],
        workflow_runner=UnsandboxedWorkflowRunner(),
        interceptors=interceptors,
    )
    assert worker._workflow_worker is not None
    worker._workflow_worker._deadlock_timeout_seconds = int(WITHIN)
    async with worker:
        made = Stage(client, queue)
        try:
            yield made
        finally:
            with suppress(RPCError):  # it may have ended
                await made.group.terminate()


async def test_who_is_chosen_is_told_and_the_workflow_ends_when_nobody_waits(temporal: str) -> None:
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        pipeline_id = await scene.pipeline()
        sql.answers = deque([Chosen(True, pipeline_id, 7)])
        await scene.look()
        await scene.until_granted(pipeline_id, 7)
        sql.answers = deque([NOBODY])
        await scene.look()
        await scene.ended()
    assert sql.orders == [ChooseNext(scene.group_id)] * 2


@pytest.mark.parametrize("how", ["never there", "terminated"])
async def test_the_slot_passes_on_when_the_workflow_of_the_waiter_is_gone(temporal: str, how: str) -> None:
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        gone = await scene.pipeline() if how == "terminated" else next(numbers)
        if how == "terminated":
            await scene.client.get_workflow_handle(workflow_id(gone)).terminate()
        pipeline_id = await scene.pipeline()
        sql.answers = deque([Chosen(True, gone, 1), Chosen(True, pipeline_id, 2)])
        await scene.look()
        await scene.until_granted(pipeline_id, 2)
    assert sql.unreachable() == [(), (1,)]


async def test_who_could_not_be_told_is_tried_again_in_the_next_round(temporal: str) -> None:
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        sql.answers = deque([Chosen(True, next(numbers), 1), HELD])
        await scene.look()
        await eventually(lambda: looked(sql, 2), "the round is over", WITHIN)
        await scene.look()
        await eventually(lambda: looked(sql, 3), "the next round", WITHIN)
    assert sql.unreachable() == [(), (1,), ()]


async def looked(sql: Sql, times: int) -> bool:
    """Whether SQL was read so often."""
    return len(sql.orders) >= times


async def test_sql_is_read_again_although_nobody_asks(temporal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_group, "LOOK_AGAIN", timedelta(seconds=0.2))
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        pipeline_id = await scene.pipeline()
        sql.answers = deque([HELD, HELD, Chosen(True, pipeline_id, 7), HELD])
        await scene.look()
        await scene.until_granted(pipeline_id, 7)


async def test_who_was_told_and_does_not_take_the_slot_is_passed_over(
    temporal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_group, "LOOK_AGAIN", timedelta(seconds=0.2))
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        deaf, other = await scene.pipeline(), await scene.pipeline()
        sql.answers = deque([Chosen(True, deaf, 1), Chosen(True, other, 2), HELD])
        await scene.look()
        await scene.until_granted(other, 2)
        assert await scene.granted(deaf) == [1]
    assert sql.unreachable()[:2] == [(), (1,)]


async def test_who_was_told_is_not_passed_over_once_the_slot_was_held(
    temporal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_group, "LOOK_AGAIN", timedelta(seconds=1))
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        loser = await scene.pipeline()
        sql.answers = deque([Chosen(True, loser, 1), HELD, HELD, Chosen(True, loser, 1), HELD])
        await scene.look()
        await scene.until_granted(loser, 1)
        await scene.look()
        await scene.until_granted(loser, 1, 1)
    assert sql.unreachable()[:4] == [(), (), (), ()]


async def test_a_look_that_arrives_after_sql_was_read_is_not_lost(temporal: str) -> None:
    """The response takes so long that Temporal hands over the signal meanwhile: the workflow may not end on it."""
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        pipeline_id = await scene.pipeline()
        sql.answers = deque([NOBODY, Chosen(True, pipeline_id, 7)])
        sql.may_answer.clear()
        await scene.client.start_workflow(
            ResourceGroupWorkflow.run,
            GroupInput(scene.group_id),
            id=group_workflow_id(scene.group_id),
            task_queue=scene.queue,
            task_timeout=timedelta(seconds=1),
        )
        await asyncio.wait_for(sql.reading.wait(), WITHIN)
        await scene.look()
        before = await scene.tasks()

        async def handed_over() -> bool:
            return await scene.tasks() >= before + 2

        await eventually(handed_over, "a workflow task has brought the signal", WITHIN)
        sql.may_answer.set()
        await scene.until_granted(pipeline_id, 7)


async def test_a_look_that_arrives_while_the_workflow_ends_is_not_lost(temporal: str) -> None:
    sql, end = Sql(NOBODY), EndsLate()
    async with stage(temporal, sql, end) as scene:
        await scene.look()
        run_id = (await scene.group.describe()).run_id

        async def has_ended() -> bool:
            return end.has_ended.is_set()

        await eventually(has_ended, "the workflow has said its last word", WITHIN)
        assert await looked(sql, 1)
        sql.answers = deque([HELD])
        await scene.look()
        end.may_say_so.set()
        await eventually(lambda: looked(sql, 2), "SQL is read again", WITHIN)
        assert (await scene.group.describe()).status is WorkflowExecutionStatus.RUNNING
        assert (await scene.group.describe()).run_id == run_id


async def test_a_long_history_is_left_behind_without_losing_who_waits(
    temporal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", lambda info: info.continued_run_id is None)
    sql = Sql(NOBODY)
    async with stage(temporal, sql) as scene:
        pipeline_id = await scene.pipeline()
        sql.answers = deque([HELD, Chosen(True, pipeline_id, 7)])
        await scene.look()
        first = (await scene.group.describe()).run_id
        await scene.until_granted(pipeline_id, 7)
        assert (await scene.group.describe()).run_id != first
