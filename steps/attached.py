"""Follows a run over connections that are cut: each goes on where the one before has ended; no byte comes twice."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Final

from domain.errors import TooLarge, Unavailable
from steps.grpc_library import grpc
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from steps.proto.runs_pb2_grpc import RunsStub
from steps.proto.step_runner_pb2_grpc import StepRunnerStub

PATIENCE: Final = 60.0
"""Seconds without any progress after which a run counts as out of reach."""
MAX_OFFSET: Final = 2**31 - 1
"""The offsets of the document's messages have 32 bits."""
_PAUSE: Final = 0.1
_CUT: Final = grpc.StatusCode.UNAVAILABLE
_LOST: Final = frozenset({_CUT, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN})
"""What a call ends with whose connection was cut, or whose service was killed."""


@dataclass(slots=True)
class Offsets:
    """How much of a run has been read."""

    stdout: int = 0
    stderr: int = 0
    results: int = 0
    log: int = 0
    """Of both streams in one."""


async def output(
    channel: grpc.aio.Channel, run_id: str, offsets: Offsets, patience: float = PATIENCE
) -> AsyncIterator[tuple[bool, bytes]]:
    """What a run writes until it ends, from the offsets on, which go along; whether it was to stderr, and the bytes.

    Raises `Unavailable` when nobody was reached for `patience` seconds, and `TooLarge` when the connection was cut
    behind the last place from which this call goes on; any other refusal as it is.
    """
    stub = StepRunnerStub(channel)

    def follow() -> Any:
        if max(offsets.stdout, offsets.stderr) > MAX_OFFSET:
            raise TooLarge(
                f"a stream of the run has more than {MAX_OFFSET:,} bytes: it can't be followed on from there"
            )
        request = messages.FollowIORequest(id=run_id, read_stdout=offsets.stdout, read_stderr=offsets.stderr)
        return stub.FollowIO(request, wait_for_ready=True)

    async for piece in _responses(follow, patience):
        is_stderr = piece.stream_type == messages.FollowIOResponse.stderr
        if is_stderr:
            offsets.stderr += len(piece.stream)
        else:
            offsets.stdout += len(piece.stream)
        yield is_stderr, piece.stream


async def results(
    channel: grpc.aio.Channel, run_id: str, offsets: Offsets, patience: float = PATIENCE
) -> AsyncIterator[messages.StepResult]:
    """What becomes of the steps of a run until it ends, likewise."""
    stub = StepRunnerStub(channel)

    def follow() -> Any:
        return stub.Follow(messages.FollowRequest(id=run_id, read_results=offsets.results), wait_for_ready=True)

    async for response in _responses(follow, patience):
        offsets.results += 1
        yield response.result


async def events(
    channel: grpc.aio.Channel, run_id: str, offsets: Offsets, patience: float = PATIENCE
) -> AsyncIterator[product.FollowEventsResponse]:
    """All of a run until it ends, in order: what it writes, and what becomes of its steps. Likewise."""
    stub = RunsStub(channel)

    def follow() -> Any:
        request = product.FollowEventsRequest(id=run_id, offset=offsets.log, read_results=offsets.results)
        return stub.FollowEvents(request, wait_for_ready=True)

    async for event in _responses(follow, patience):
        offsets.log += len(event.data)
        offsets.results += event.HasField("result")
        yield event


async def asked(call: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """The response of a call that may be made twice; it is made again where it was cut.

    Raises `Unavailable` when nobody was reached for `patience` seconds; any other refusal as it is.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return await asyncio.wait_for(call(), max(_PAUSE, deadline - time.monotonic()))
        except TimeoutError:
            raise Unavailable(f"the step runner has been out of reach for {patience:g} s") from None
        except grpc.aio.AioRpcError as error:
            if error.code() is not _CUT:
                raise
            await asyncio.sleep(_PAUSE)


async def _responses(follow: Callable[[], Any], patience: float) -> AsyncIterator[Any]:
    """The responses of a call that is made again where it was cut; `follow` makes it by what has been taken so far.

    A run may be silent for hours: what counts is for how long the service has not answered.
    """
    answered = time.monotonic()
    while True:
        call = follow()
        try:
            await asyncio.wait_for(call.initial_metadata(), patience)
            async for response in call:
                answered = time.monotonic()
                yield response
        except TimeoutError:
            raise Unavailable(f"the step runner has been out of reach for {patience:g} s") from None
        except grpc.aio.AioRpcError as error:
            answered = _heard(error, answered, patience)
            await asyncio.sleep(_PAUSE)
        else:
            return
        finally:
            call.cancel()


def _heard(error: grpc.aio.AioRpcError, answered: float, patience: float) -> float:
    """When the service was there for the last time. Raises what is no cut, and `Unavailable`."""
    if error.code() not in _LOST:
        raise error
    if error.code() is _CUT:
        return time.monotonic()
    if time.monotonic() - answered > patience:
        raise Unavailable(f"the step runner has failed for {patience:g} s: {error.details()}") from error
    return answered
