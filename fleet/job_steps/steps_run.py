"""One run of a job's steps: begun once, followed whatever is cut, ended when the job is to end."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from domain.errors import PerdureError, Unavailable
from fleet.job_steps.step_log import StepLog
from fleet.stop import Cause
from fleet.trace import Trace
from fleet.verdict import SUCCESS, Verdict, failed
from steps.attached import Offsets, asked, events
from steps.dialing import ByteStream, dialed
from steps.grpc_library import grpc
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from steps.proto.runs_pb2_grpc import RunsStub
from steps.proto.step_runner_pb2_grpc import StepRunnerStub
from steps.ways.opening import Way

WINDS_DOWN: Final = 10.0
"""Seconds, beside its grace, that a run that is to end gets."""
_FORGETS_WITHIN: Final = 10.0
_OPTIONS: Final = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
)
"""A connection that is cut is opened again soon, and one that is dead is noticed.

`min_reconnect_backoff_ms` is not among them: what takes longer to connect than that, as SSH does, never would.
"""
_OF_THE_JOB: Final = frozenset({grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED})
"""What is refused because of what the job asks for."""
_VERDICTS: Final[Mapping[int, Verdict]] = {
    messages.Job.cancelled: failed("script_failure"),
    messages.Job.timed_out: failed("job_execution_timeout"),
    messages.Job.lost: failed("runner_system_failure"),
}
"""By how a run has ended that neither succeeded nor failed."""


class StepPlace(Protocol):
    """Where a step runner is."""

    async def prepare(self) -> None:
        """Make it answer, where that is ours to do. Raises `Unavailable`."""

    async def open(self) -> ByteStream:
        """Open a stream of bytes to it. Raises `OSError`."""


class StepsRun:
    """Runs what is requested in a place, and writes what it says into the log of the job."""

    def __init__(
        self,
        request: product.RunRequest,
        place: StepPlace,
        trace: Trace,
        *,
        is_begun: bool,
        begun: Callable[[], Awaitable[None]],
        order: Callable[[Cause], None],
        grace: float,
        patience: float,
    ) -> None:
        """`is_begun`: the step runner has taken it before; `begun` is called once it has.

        `order` is told when the run ends by its time limit. `grace` are seconds that steps get to end, `patience` those
        for which nobody may be reached.
        """
        self._request, self._place, self._trace = request, place, trace
        self._is_begun, self._begun, self._order, self._grace = is_begun, begun, order, grace
        self._patience = patience
        self._offsets = Offsets()
        self._way = Way(place.open)
        self.log = StepLog(trace, frozenset(request.done))

    async def run(self) -> Verdict:
        """Run to the end. Canceled, it ends the run first. Raises `Unavailable` where nobody can be reached."""
        await self._place.prepare()
        async with dialed(self._way) as address, grpc.aio.insecure_channel(address, _OPTIONS) as channel:
            try:
                return await self._carried(channel)
            except Unavailable as error:
                raise Unavailable(f"{error}{f'; {self._way.fault}' if self._way.fault else ''}") from error
            finally:
                self.log.close()
                self._trace.repeat_no_more()
                with suppress(PerdureError, grpc.aio.AioRpcError, TimeoutError):
                    close = RunsStub(channel).Close(product.CloseRequest(id=self._request.id), timeout=_FORGETS_WITHIN)
                    await close

    async def _carried(self, channel: grpc.aio.Channel) -> Verdict:
        try:
            refused = await self._begin(channel)
            if refused is not None:
                return refused
            await self._follow(channel)
        except asyncio.CancelledError:
            with suppress(PerdureError, grpc.aio.AioRpcError, TimeoutError):
                await self._wind_down(channel)
            raise
        except grpc.aio.AioRpcError as error:
            return self._lost(f"the step runner refuses to tell what becomes of the run: {error.details()}")
        return await self._verdict(channel)

    async def _begin(self, channel: grpc.aio.Channel) -> Verdict | None:
        """Begin the run, unless it is there; what the job comes to if it cannot be run."""
        if await self._found(channel) is not None:
            return None
        if self._is_begun:
            return self._lost("the step runner knows nothing of it any more")
        try:
            await asked(lambda: RunsStub(channel).Run(self._request, wait_for_ready=True), self._patience)
        except grpc.aio.AioRpcError as error:
            self._trace.error(error.details() or str(error.code()))
            is_of_the_job = error.code() in _OF_THE_JOB
            return failed("script_failure" if is_of_the_job else "runner_system_failure")
        await self._begun()
        return None

    async def _follow(self, channel: grpc.aio.Channel) -> None:
        async for event in events(channel, self._request.id, self._offsets, self._patience):
            self.log.take(event)

    async def _wind_down(self, channel: grpc.aio.Channel) -> None:
        """Let the run end, and hear its last words."""
        async with asyncio.timeout(self._grace + WINDS_DOWN):
            cancel = messages.CancelRequest(id=self._request.id)
            await asked(lambda: StepRunnerStub(channel).Cancel(cancel, wait_for_ready=True), self._patience)
            await self._follow(channel)

    async def _verdict(self, channel: grpc.aio.Channel) -> Verdict:
        job = await self._found(channel)
        if job is None:
            return self._lost("the step runner knows nothing of it any more")
        if job.status == messages.Job.suceeded:
            return SUCCESS
        if job.status == messages.Job.failed:
            return failed("script_failure", self.log.exit_code)
        if job.status == messages.Job.timed_out:
            self._order(Cause.TIMEOUT)
        else:
            self._trace.error(job.message or "the run of the steps was cancelled")
        return _VERDICTS[job.status]

    async def _found(self, channel: grpc.aio.Channel) -> Any:
        """The run, as the step runner knows it, or None."""
        stub = StepRunnerStub(channel)
        response = await asked(lambda: stub.List(messages.ListRequest(), wait_for_ready=True), self._patience)
        return next((job for job in response.jobs if job.id == self._request.id), None)

    def _lost(self, why: str) -> Verdict:
        self._trace.error(f"The run of the steps is lost: {why}")
        return failed("runner_system_failure")
