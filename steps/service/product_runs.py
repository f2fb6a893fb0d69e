"""The calls of the product's own step runner, on the same runs.

Source: docs/reference/steps.md, "The product's service".
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from google.protobuf.json_format import Error as JsonError
from google.protobuf.json_format import MessageToDict

from domain.errors import Invalid
from domain.steps.runs import DoneStep, RunRequest, RunState, RunStatus, Variable
from steps.proto import runs_pb2 as messages
from steps.proto.runs_pb2_grpc import RunsServicer
from steps.service.errors import MAX_DETAILS, MAX_LISTED, answered, shortened, streamed
from steps.service.events import follow_events
from steps.service.following import follow_log
from steps.service.registry import Registry
from steps.service.result_messages import result_of
from steps.service.times import timestamp

_Status: Final = messages.Status
_STATUS: Final[Mapping[RunStatus, int]] = {
    RunStatus.PENDING: _Status.running,
    RunStatus.RUNNING: _Status.running,
    RunStatus.SUCCESS: _Status.success,
    RunStatus.FAILURE: _Status.failure,
    RunStatus.CANCELLED: _Status.cancelled,
    RunStatus.TIMED_OUT: _Status.failure,
    RunStatus.LOST: _Status.failure,
}


class ProductRuns(RunsServicer):
    """Answers them."""

    def __init__(self, registry: Registry) -> None:
        """`registry` has the runs."""
        self._registry = registry

    @answered
    async def Run(self, request: messages.RunRequest, _context: Any) -> messages.RunResponse:
        """Begin a run; a repeated id begins nothing."""
        variables = {one.key: Variable(one.value, one.file, one.masked) for one in request.job.variables}
        timeout = request.timeout.ToNanoseconds() / 1_000_000_000
        folder = request.job.build_dir or request.work_dir
        wanted = RunRequest(
            request.id,
            folder,
            request.steps,
            "",
            dict(request.env),
            variables,
            timeout,
            done={name: _done(one) for name, one in request.done.items()},
            present=tuple(request.present),
        )
        await self._registry.begin(wanted)
        return messages.RunResponse()

    @streamed
    async def FollowLogs(
        self, request: messages.FollowLogsRequest, _context: Any
    ) -> AsyncIterator[messages.FollowLogsResponse]:
        """Both streams in one, in the order in which they were written."""
        if request.offset < 0:
            raise Invalid("the offset is below 0")
        async for data in follow_log(self._registry.get(request.id), request.offset):
            yield messages.FollowLogsResponse(data=data)

    @streamed
    async def FollowEvents(
        self, request: messages.FollowEventsRequest, _context: Any
    ) -> AsyncIterator[messages.FollowEventsResponse]:
        """The same, and in its place each step that begins or ends."""
        if request.offset < 0 or request.read_results < 0:
            raise Invalid("the offset, or the number of results, is below 0")
        async for event in follow_events(self._registry.get(request.id), request.offset, request.read_results):
            if isinstance(event, bytes):
                yield messages.FollowEventsResponse(data=event)
            else:
                yield messages.FollowEventsResponse(result=result_of(event), masks=event.get("masks", ()))

    @answered
    async def Status(self, request: messages.StatusRequest, _context: Any) -> messages.StatusResponse:
        """How far a run is, or all of them."""
        if request.id:
            return messages.StatusResponse(jobs=[_status(request.id, self._registry.get(request.id).state)])
        jobs = [_status(run_id, state, MAX_LISTED) for run_id, state in self._registry.all()]
        return messages.StatusResponse(jobs=jobs)

    @answered
    async def Cancel(self, request: messages.CancelRequest, _context: Any) -> messages.CancelResponse:
        """Let a run end as soon as possible; it stays until it is closed."""
        await self._registry.cancel(request.id)
        return messages.CancelResponse()

    @answered
    async def Close(self, request: messages.CloseRequest, _context: Any) -> messages.CloseResponse:
        """Let a run end, and forget it; one that is not there is closed."""
        await self._registry.forget(request.id)
        return messages.CloseResponse()


def _done(step: messages.DoneStep) -> DoneStep:
    try:
        outputs = {name: MessageToDict(value) for name, value in step.outputs.items()}
    except (JsonError, ValueError) as error:
        raise Invalid(f"a step that is done has an output that JSON has not: {error}") from None
    return DoneStep(outputs, dict(step.exports))


def _status(run_id: str, state: RunState, said: int = MAX_DETAILS) -> messages.Status:
    return messages.Status(
        id=run_id,
        message=shortened(state.message, said),
        status=_STATUS[state.status],  # type: ignore[arg-type]  # the numbers of the same enumeration
        start_time=timestamp(state.began_at),
        end_time=timestamp(state.ended_at),
    )
