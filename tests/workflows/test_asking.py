"""The API asks the workflow of a pipeline: what it makes of everything that may happen to the question."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.api.workflowservice.v1 import GetSystemInfoResponse
from temporalio.client import Client, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError, RPCStatusCode

from application.pipelines.operations import ask
from domain.errors import Refused
from domain.messages import Answer, Operation
from models.repositories.pipelines import decisions
from models.repositories.pipelines.outbox import COMMAND
from settings import TimeLimits
from steps.grpc_library import grpc
from tests.models.world import job
from tests.waiting import HANGS, eventually
from tests.workflows.pod import Pod
from workflows.handles import Pipelines

GATE = "gate: {script: x, when: manual, allow_failure: false}\n"


class Line:
    """Stands between the API and Temporal: meets the first questions with these errors and counts all."""

    def __init__(self, pod: Pod, *errors: Exception) -> None:
        self._pod = pod
        self._errors: Iterator[Exception] = iter(errors)
        self.keys: list[str] = []

    async def ask(self, facts: Any, name: str, operation: Operation, timeout: Any) -> Answer:
        """Break, or ask."""
        self.keys.append(operation.key)
        error = next(self._errors, None)
        if error is not None:
            raise error
        return await self._pod.pipelines.ask(facts, name, operation, timeout)


def services(pod: Pod, line: Line, patience: float = 5.0) -> Any:
    """What asking needs of the API's services."""
    return SimpleNamespace(
        database=pod.world.database,
        temporal=SimpleNamespace(pipelines=line),
        settings=SimpleNamespace(times=TimeLimits(command_answer=patience)),
        clock=pod.world.now,
        notifications=pod.notifications,
    )


def rpc(status: RPCStatusCode) -> RPCError:
    """What Temporal answers."""
    return RPCError(status.name.lower(), status, b"")


async def waiting(pod: Pod) -> tuple[int, int]:
    """A pipeline that waits for a person, and the job."""
    pipeline_id = await pod.create(GATE)
    await pod.until(pipeline_id, gate="manual")
    return pipeline_id, int((await pod.world.row(job, pipeline_id=pipeline_id)).id)


@pytest.mark.parametrize(
    "status", [RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.NOT_FOUND]
)
async def test_a_run_that_has_just_closed_or_is_busy_is_asked_again_with_the_same_key(
    pod: Pod, status: RPCStatusCode
) -> None:
    pipeline_id, gate = await waiting(pod)
    line = Line(pod, rpc(status))
    asked = await ask(services(pod, line), pipeline_id, "play_job", Operation(job_id=gate), pod.world.user_id)
    assert asked.answer is not None
    assert asked.answer.jobs == (gate,)
    assert line.keys == [asked.key, asked.key]
    assert list(await pod.world.outbox(pipeline_id, COMMAND)) == []


@pytest.mark.parametrize("broken", [WorkflowUpdateRPCTimeoutOrCancelledError(), rpc(RPCStatusCode.UNAVAILABLE)])
async def test_a_command_that_is_not_answered_is_obeyed_once_although_the_outbox_carries_it_too(
    pod: Pod, broken: Exception
) -> None:
    """The question may have arrived, only its response is lost: both have one key."""
    pipeline_id, gate = await waiting(pod)
    await pod.stop_relay()
    asked = await ask(
        services(pod, Line(pod, broken)), pipeline_id, "play_job", Operation(job_id=gate), pod.world.user_id
    )
    assert asked.answer is None
    assert (await pod.ask(pipeline_id, "play_job", gate, key=asked.key)).jobs == (gate,)
    pod.start_relay()
    await pod.run("gate")
    assert await pod.ended(pipeline_id) == "success"
    assert [row.attempt for row in await pod.world.rows(job, pipeline_id=pipeline_id)] == [1]


async def test_a_refusal_is_told_and_not_tried_again(pod: Pod) -> None:
    pipeline_id, gate = await waiting(pod)
    line = Line(pod)
    with pytest.raises(Refused, match="only a finished job can be retried"):
        await ask(services(pod, line), pipeline_id, "retry_job", Operation(job_id=gate), pod.world.user_id)
    assert len(line.keys) == 1
    assert list(await pod.world.outbox(pipeline_id, COMMAND)) == []


async def test_a_run_that_is_terminated_with_a_question_open_is_asked_again(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline_id, gate = await waiting(pod)
    is_there = asyncio.Event()
    line = Line(pod)
    with monkeypatch.context() as fault:

        async def away(*_: Any) -> None:
            is_there.set()
            raise rpc(RPCStatusCode.UNAVAILABLE)

        fault.setattr(decisions, "record_or_read", away)
        asking = asyncio.create_task(
            ask(services(pod, line, 20), pipeline_id, "play_job", Operation(job_id=gate, key="once"), pod.world.user_id)
        )
        await asyncio.wait_for(is_there.wait(), 20)

        async def accepted() -> bool:
            events = (await pod.handle(pipeline_id).fetch_history()).events
            return any(event.HasField("workflow_execution_update_accepted_event_attributes") for event in events)

        await eventually(accepted, "the update is accepted")
        await pod.handle(pipeline_id).terminate("test")
    asked = await asyncio.wait_for(asking, 30)
    assert asked.answer is not None
    assert (asked.answer.jobs, line.keys) == ((gate,), ["once", "once"])


class BusyTemporal(grpc.GenericRpcHandler):
    """Says of every call that it has no time for it, but to who asks what it can do."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        """The handler of a method."""
        answers = handler_call_details.method.endswith("/GetSystemInfo")

        async def handle(_request: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
            if not answers:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "busy")
            return GetSystemInfoResponse().SerializeToString()

        return grpc.unary_unary_rpc_method_handler(handle)


@asynccontextmanager
async def busy_pipelines() -> AsyncIterator[Pipelines]:
    """Workflows of a Temporal that is busy."""
    server = grpc.aio.server(handlers=(BusyTemporal(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield Pipelines(await Client.connect(f"127.0.0.1:{port}"), "queue")
    finally:
        await server.stop(None)


async def test_whoever_asks_a_busy_server_waits_no_longer_than_they_said(pod: Pod) -> None:
    """The client by itself would call again and again for three quarters of a minute."""
    pipeline_id, gate = await waiting(pod)
    async with busy_pipelines() as busy:
        asked_of = services(pod, cast("Line", busy), 0.5)
        question = Operation(job_id=gate)
        asking = asyncio.create_task(ask(asked_of, pipeline_id, "play_job", question, pod.world.user_id))
        await asyncio.wait({asking}, timeout=HANGS)
        assert asking.done()  # looked at before it is canceled: that would end the waiting, too
    assert asking.result().answer is None
    await pod.run("gate")
    assert await pod.ended(pipeline_id) == "success"
