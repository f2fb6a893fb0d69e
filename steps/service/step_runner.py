"""The five calls of the requirement document. Source: docs/requirements.md, "The step runner"."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import orjson
from google.protobuf.json_format import Error as JsonError
from google.protobuf.json_format import MessageToDict

from domain.errors import Invalid
from domain.steps.reading import WITHOUT_SPEC
from domain.steps.runs import RunRequest, RunStatus
from steps.engine.log_files import STDERR
from steps.proto import step_runner_pb2 as messages
from steps.proto.step_runner_pb2_grpc import StepRunnerServicer
from steps.service.errors import MAX_LISTED, answered, shortened, streamed
from steps.service.following import follow_results, follow_streams
from steps.service.registry import Registry
from steps.service.result_messages import result_of
from steps.service.times import timestamp

_Job: Final = messages.Job
_STATUS: Final[Mapping[RunStatus, int]] = {
    RunStatus.PENDING: _Job.running,
    RunStatus.RUNNING: _Job.running,
    RunStatus.SUCCESS: _Job.suceeded,
    RunStatus.FAILURE: _Job.failed,
    RunStatus.CANCELLED: _Job.cancelled,
    RunStatus.TIMED_OUT: _Job.timed_out,
    RunStatus.LOST: _Job.lost,
}


class StepRunner(StepRunnerServicer):
    """Answers them."""

    def __init__(self, registry: Registry) -> None:
        """`registry` has the runs."""
        self._registry = registry

    @answered
    async def Run(self, request: messages.RunRequest, _context: Any) -> messages.RunResponse:
        """Begin a run; a repeated id begins nothing."""
        await self._registry.begin(request_of(request))
        return messages.RunResponse()

    @streamed
    async def Follow(self, request: messages.FollowRequest, _context: Any) -> AsyncIterator[messages.FollowResponse]:
        """What becomes of the steps, from their beginning or from where the caller has read to."""
        if request.read_results < 0:
            raise Invalid("`read_results` is below 0")
        async for line in follow_results(self._registry.get(request.id), request.read_results):
            yield messages.FollowResponse(result=result_of(line))

    @streamed
    async def FollowIO(
        self, request: messages.FollowIORequest, _context: Any
    ) -> AsyncIterator[messages.FollowIOResponse]:
        """What commands write, from where the caller has read to."""
        if request.read_stdout < 0 or request.read_stderr < 0:
            raise Invalid(
                "an offset is below 0; those of `FollowIO` end at 2,147,483,647, and those of `FollowLogs` of "
                "`perdure.steps.Runs` have 64 bits"
            )
        watched = self._registry.get(request.id)
        async for name, data in follow_streams(watched, request.read_stdout, request.read_stderr):
            kind = messages.FollowIOResponse.stderr if name == STDERR else messages.FollowIOResponse.stdout
            yield messages.FollowIOResponse(stream=data, stream_type=kind)

    @answered
    async def Cancel(self, request: messages.CancelRequest, _context: Any) -> messages.CancelResponse:
        """Let a run end as soon as possible."""
        await self._registry.cancel(request.id)
        return messages.CancelResponse()

    @answered
    async def List(self, _request: messages.ListRequest, _context: Any) -> messages.ListResponse:
        """How far all runs are."""
        jobs = [
            messages.Job(
                id=run_id,
                status=_STATUS[state.status],  # type: ignore[arg-type]  # the numbers of the same enumeration
                finished_time=timestamp(state.ended_at),
                message=shortened(state.message, MAX_LISTED),
            )
            for run_id, state in self._registry.all()
        ]
        return messages.ListResponse(jobs=jobs)


def request_of(request: messages.RunRequest) -> RunRequest:
    """What is asked for. Raises `Invalid` for a type that does not go with what is sent."""
    has_steps = bool(request.steps) or bool(request.steps_yaml)
    wanted: Mapping[int, tuple[str, bool, bool]] = {
        messages.RunRequest.step: ("step", has_steps, bool(request.ci_script)),
        messages.RunRequest.script: ("script", bool(request.ci_script), has_steps),
    }
    if request.type not in wanted:
        raise Invalid("`type` must be `step` or `script`")
    name, has_own, has_other = wanted[request.type]
    if not has_own or has_other:
        has = "steps and no `ci_script`" if name == "step" else "a `ci_script` alone"
        raise Invalid(f"a run of type `{name}` has {has}")
    if request.steps and request.steps_yaml:
        raise Invalid("a run has `steps` or `steps_yaml`, not both")
    steps = request.steps_yaml or (_file_of(request) if request.steps else "")
    return RunRequest(request.id, request.work_dir, steps, request.ci_script, dict(request.env))


def _file_of(request: messages.RunRequest) -> str:
    """The steps of a request as a step file; JSON is YAML, too."""
    try:
        calls = [MessageToDict(step, preserving_proto_field_name=True) for step in request.steps]
    except (JsonError, ValueError) as error:
        raise Invalid(f"the steps have a value that JSON has not: {error}") from None
    return WITHOUT_SPEC + orjson.dumps({"run": calls}).decode()
