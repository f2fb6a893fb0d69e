"""The service as a process: a socket, two services of gRPC on the same runs, until a signal ends it. The runs go on."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Final

import structlog

from steps.engine.every_finder import RUNS
from steps.grpc_library import grpc
from steps.proto.runs_pb2_grpc import add_RunsServicer_to_server
from steps.proto.step_runner_pb2_grpc import add_StepRunnerServicer_to_server
from steps.service.front import Front
from steps.service.product_runs import ProductRuns
from steps.service.registry import KEPT, Registry
from steps.service.spawning import Spawner
from steps.service.step_runner import StepRunner
from steps.service.unreadable import Reading
from steps.socket_place import opened

MAX_MESSAGE: Final = 4 * 1024 * 1024
"""Bytes of a request or a response."""
MAX_CALLS: Final = 5_000
"""Calls that are answered at the same time, most of which follow a run."""
READY: Final = "step-runner is listening on socket {path}"
"""The line on stderr by which whoever starts the service knows that it is there."""
_GRACE: Final = 2.0
"""Seconds for calls that are under way at the end."""
_EXPIRE_EVERY: Final = 60.0
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.so_reuseport", 0),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
)

log = structlog.get_logger()


async def serve(path: Path, root: Path, *, kept: float = KEPT) -> None:
    """Answer at `path` until SIGTERM or SIGINT; runs, and what they fetch, are kept below `root`.

    Raises `Refused` where a step runner listens there, and `Invalid` for a place that is not this user's.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with opened(path) as listening:
        spawner = Spawner()
        registry = Registry(root / RUNS, spawner.start, kept=kept)
        await registry.open()
        inner = path.with_suffix(".inner")
        inner.unlink(missing_ok=True)
        server = grpc.aio.server(interceptors=(Reading(),), options=_OPTIONS, maximum_concurrent_rpcs=MAX_CALLS)
        add_StepRunnerServicer_to_server(StepRunner(registry), server)
        add_RunsServicer_to_server(ProductRuns(registry), server)
        server.add_insecure_port(f"unix:{inner}")
        await server.start()
        front = Front(listening, inner)
        front.begin()
        expiring = asyncio.create_task(_expire(registry))
        sys.stderr.write(READY.format(path=path) + "\n")
        sys.stderr.flush()
        await stop.wait()
        expiring.cancel()
        await server.stop(_GRACE)
        await front.close()
        await registry.close()
        spawner.close()
        inner.unlink(missing_ok=True)


async def _expire(registry: Registry) -> None:
    while True:
        await asyncio.sleep(_EXPIRE_EVERY)
        try:
            await registry.expire()
        except OSError as error:
            log.warning("runs that have ended cannot be removed", error=str(error))


def state_folder(environment: dict[str, str], user: int) -> Path:
    """Where runs are kept: of root in `/var/lib/perdure`, of others in their state folder."""
    if user == 0:
        return Path("/var/lib/perdure/step-runner")
    home = environment.get("XDG_STATE_HOME") or f"{environment.get('HOME', '/tmp')}/.local/state"  # noqa: S108
    return Path(home) / "perdure/step-runner"
