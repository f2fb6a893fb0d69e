"""What the reconciler asks of Temporal, counted on a stand-in for the server, and what it does about the answers."""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import insert, update
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionTerminatedEventAttributes
from temporalio.api.workflow.v1 import WorkflowExecutionInfo
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryResponse,
    ListWorkflowExecutionsResponse,
)
from temporalio.service import RPCError, RPCStatusCode

from domain.messages import Command, Operation
from loops.reconciler import Reconciler
from models.notifications import Notifications
from models.repositories.pipelines import outbox
from settings import TimeLimits
from tests.models.world import World, outbox_table, pipeline
from workflows.handles import Pipelines


class Server:
    """A Temporal server that knows some workflows: what visibility lists, and what a description says."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.listed: list[int] = []
        self.known: dict[int, str] = {}
        self.signals: list[tuple[str, Mapping[str, Any]]] = []
        self.broken: set[int] = set()

    async def list_workflow_executions(self, request: Any, **_: Any) -> ListWorkflowExecutionsResponse:
        """A page of what runs."""
        self.calls["list"] += 1
        begin = int(request.next_page_token or b"0")
        end = begin + min(request.page_size, 1_000)
        answer = ListWorkflowExecutionsResponse(
            next_page_token=str(end).encode() if end < len(self.listed) else b"",
        )
        for number in self.listed[begin:end]:
            answer.executions.add(execution=WorkflowExecution(workflow_id=f"pipeline-{number}"))
        return answer

    async def describe_workflow_execution(self, request: Any, **_: Any) -> DescribeWorkflowExecutionResponse:
        """The latest run."""
        self.calls["describe"] += 1
        number = int(request.execution.workflow_id.removeprefix("pipeline-"))
        if number in self.broken:
            raise RPCError("busy", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
        if number not in self.known:
            raise RPCError("unknown", RPCStatusCode.NOT_FOUND, b"")
        info = WorkflowExecutionInfo(
            execution=WorkflowExecution(run_id=f"run-of-{number}"),
            status=WorkflowExecutionStatus.Value(f"WORKFLOW_EXECUTION_STATUS_{self.known[number]}"),
        )
        return DescribeWorkflowExecutionResponse(workflow_execution_info=info)

    async def get_workflow_execution_history(self, _request: Any, **_: Any) -> GetWorkflowExecutionHistoryResponse:
        """The last event of a terminated run."""
        self.calls["history"] += 1
        said = WorkflowExecutionTerminatedEventAttributes(reason="enough", identity="ada@host")
        answer = GetWorkflowExecutionHistoryResponse()
        answer.history.events.append(HistoryEvent(workflow_execution_terminated_event_attributes=said))
        return answer

    async def start_workflow(
        self, *_: Any, start_signal: str, start_signal_args: list[Mapping[str, Any]], **__: Any
    ) -> None:
        """Signal with start."""
        self.signals.append((start_signal, start_signal_args[0]))


@pytest.fixture
def server() -> Server:
    """A server that knows nothing yet."""
    return Server()


@pytest.fixture
def reconciler(world: World, server: Server) -> Reconciler:
    """The reconciler between the two."""
    client: Any = SimpleNamespace(workflow_service=server, namespace="default", start_workflow=server.start_workflow)
    times = TimeLimits(reconcile_every=20)
    return Reconciler(world.database, Pipelines(client, "pipelines"), Notifications(), world.now, times)


async def made(world: World, count: int = 1) -> list[int]:
    """Pipelines that run and whose start is a while ago: copies of one, which is as good as any for this."""
    first = await world.begin()
    row = dict((await world.row(pipeline, id=first))._mapping)
    ids = [first, *range(first + 1, first + count)]
    copies = [row | {"id": number, "iid": number} for number in ids[1:]]
    async with world.database.write() as connection:
        if copies:
            await connection.execute(insert(pipeline), copies)
        await connection.execute(update(pipeline).values(created_at=world.now() - timedelta(hours=1)))
        await connection.execute(outbox_table.delete())
    return ids


async def test_a_thousand_healthy_pipelines_cost_fewer_than_five_calls(
    world: World, server: Server, reconciler: Reconciler
) -> None:
    server.listed = await made(world, 1_000)
    assert await reconciler.reconcile() == []
    assert server.calls.total() < 5
    assert server.signals == []


async def test_what_is_beyond_the_first_page_is_found(world: World, server: Server, reconciler: Reconciler) -> None:
    ids = await made(world, 2_100)
    server.listed = ids[:-1]
    assert await reconciler.reconcile() == [ids[-1]]
    assert server.calls == {"list": 3, "describe": 1}
    assert server.signals == [("reconcile", Operation().as_sent())]


async def test_visibility_is_only_a_hint(world: World, server: Server, reconciler: Reconciler) -> None:
    """It has not heard of a workflow that runs."""
    (number,) = await made(world)
    for status in ("RUNNING", "PAUSED"):
        server.known = {number: status}
        assert await reconciler.reconcile() == []
    assert server.signals == []


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "CANCELED", "TIMED_OUT", ""])
async def test_what_is_closed_or_unknown_goes_on(
    world: World, server: Server, reconciler: Reconciler, status: str
) -> None:
    (number,) = await made(world)
    server.known = {number: status} if status else {}
    assert await reconciler.reconcile() == [number]
    assert server.signals == [("reconcile", Operation().as_sent())]


async def test_what_was_terminated_is_canceled_with_the_reason(
    world: World, server: Server, reconciler: Reconciler
) -> None:
    (number,) = await made(world)
    server.known = {number: "TERMINATED"}
    assert await reconciler.reconcile() == [number]
    assert server.signals == [
        (
            "cancel_pipeline",
            Operation(f"terminated-run-of-{number}", None, {}, "Terminated in Temporal by ada@host: enough").as_sent(),
        )
    ]


async def test_one_pipeline_that_cannot_be_looked_at_keeps_no_other_from_it(
    world: World, server: Server, reconciler: Reconciler
) -> None:
    ids = await made(world, 3)
    server.broken = {ids[1]}
    assert await reconciler.reconcile() == [ids[0], ids[2]]


async def test_a_new_pipeline_is_left_to_those_who_start_it(
    world: World, server: Server, reconciler: Reconciler
) -> None:
    await world.begin()
    world.seconds += 60  # its start is still in the outbox
    assert await reconciler.reconcile() == []
    async with world.database.write() as connection:
        await connection.execute(outbox_table.delete())
        await connection.execute(update(pipeline).values(created_at=world.now() - timedelta(seconds=2)))
    assert await reconciler.reconcile() == []
    assert server.calls.total() == 0


async def test_a_pipeline_with_an_unfolded_outcome_is_told_once(
    world: World, server: Server, reconciler: Reconciler
) -> None:
    """A verdict from which nothing follows yet may wait for hours; another one is told again."""
    pipeline_id = await world.begin("a: {script: x}\nb: {script: y}\nc: {script: z}\n")
    async with world.database.write() as connection:
        await connection.execute(outbox_table.delete())
        await connection.execute(update(pipeline).values(created_at=world.now() - timedelta(hours=1)))
    server.listed, server.known = [pipeline_id], {pipeline_id: "RUNNING"}
    for _ in range(2):
        await world.end(await world.take())
        newest = (await world.outbox(pipeline_id, outbox.OUTCOME))[-1]
        async with world.database.write() as connection:
            await outbox.mark_sent(connection, [newest], world.now())
        world.seconds += 60
        assert await reconciler.reconcile() == [pipeline_id]
        assert await reconciler.reconcile() == []
    assert server.signals == [("reconcile", Operation().as_sent())] * 2


async def test_a_complete_pipeline_with_an_unfolded_verdict_is_told_once(
    world: World, server: Server, reconciler: Reconciler
) -> None:
    """Versions before left such rows: of jobs that were canceled, in pipelines whose workflow has closed."""
    pipeline_id = await world.begin("one: {script: x}")
    taken = await world.take()
    await world.turn(pipeline_id, Command("cancel_job", "k", taken))
    assert await world.status(pipeline_id) == "canceled"
    (bell,) = await world.outbox(pipeline_id, outbox.OUTCOME)
    async with world.database.write() as connection:
        await outbox.mark_sent(connection, [bell], world.now())
    server.known = {pipeline_id: "TERMINATED"}
    world.seconds += 60
    assert await reconciler.reconcile() == [pipeline_id]
    assert await reconciler.reconcile() == []
    assert server.signals == [("reconcile", Operation().as_sent())]
