"""Asks the service of the step runner, as its commands do."""

from pathlib import Path
from typing import Any

from domain.errors import NotFound, PerdureError, Unavailable
from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from steps.proto.step_runner_pb2_grpc import StepRunnerStub


async def list_runs(path: Path, timeout: float) -> list[dict[str, Any]]:
    """The runs by their ids, each with its status in plain words. Raises `Unavailable`."""
    async with _channel(path) as channel:
        response = await _asked(path, StepRunnerStub(channel).List(messages.ListRequest(), timeout=timeout))
    return [
        {
            "id": job.id,
            "status": _WORDS.get(job.status, str(job.status)),
            "finished_at": job.finished_time.seconds or None,
            "message": job.message,
        }
        for job in response.jobs
    ]


async def cancel_run(path: Path, run_id: str, timeout: float) -> None:
    """Let a run end. Raises `NotFound`, `Unavailable`."""
    async with _channel(path) as channel:
        await _asked(path, StepRunnerStub(channel).Cancel(messages.CancelRequest(id=run_id), timeout=timeout))


def _channel(path: Path) -> grpc.aio.Channel:
    return grpc.aio.insecure_channel(f"unix:{path}")


async def _asked(path: Path, call: Any) -> Any:
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            raise NotFound(error.details() or "there is no such run") from None
        if error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}:
            raise Unavailable(f"no step runner answers at {path}; `perdure step-runner serve` starts one") from None
        raise PerdureError(error.details() or str(error.code())) from None


_WORDS = {
    messages.Job.running: "running",
    messages.Job.suceeded: "succeeded",
    messages.Job.failed: "failed",
    messages.Job.cancelled: "cancelled",
    messages.Job.timed_out: "timed out",
    messages.Job.lost: "lost",
}
