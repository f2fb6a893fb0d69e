"""A real Temporal server for tests: on ports of its own, its database in a file, without the Web UI."""

import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from google.protobuf.duration_pb2 import Duration
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from rigs.ports import LOCAL, free_port
from tests.program import Program
from tests.waiting import eventually

STARTED_WITHIN = 60.0
_ANSWER = timedelta(seconds=2)


class TemporalServer:
    """A server that can be killed and started again with what it had stored. `address` is `host:port`."""

    def __init__(self, folder: Path, dynamic: Mapping[str, int | str] | None = None, *, pages: bool = False) -> None:
        """`folder` takes its database and its log; `dynamic` are values of the server's dynamic configuration.

        With `pages` it serves its Web UI there.
        """
        port = free_port()
        self.address = f"{LOCAL}:{port}"
        ports = {"--port": port, "--http-port": free_port(), "--metrics-port": free_port(), "--ui-port": free_port()}
        self.pages = f"http://{LOCAL}:{ports['--ui-port']}"
        database: list[str | Path] = ["--db-filename", folder / "temporal.db"]
        for pragma in ("journal_mode=wal", "synchronous=1"):
            database += ["--sqlite-pragma", pragma]
        for name, value in (dynamic or {}).items():
            database += ["--dynamic-config-value", f"{name}={value}"]
        self._program = Program(
            [
                *(
                    _command(),
                    "server",
                    "start-dev",
                    *(() if pages else ("--headless",)),
                    "--ip",
                    LOCAL,
                    "--log-level",
                    "error",
                ),
                *(str(word) for pair in ports.items() for word in pair),
                *database,
            ],
            folder / "temporal.log",
            cwd=folder,
        )

    async def start(self) -> None:
        """Start it; returns when it answers for its namespace `default`."""
        await self._program.start()
        client = await Client.connect(self.address, lazy=True)

        async def answers() -> bool:
            if not self._program.running:
                raise RuntimeError(f"Temporal ended at its start:\n{self._program.output()}")
            return await _knows(client, "default")

        await eventually(answers, f"Temporal answers on {self.address}", STARTED_WITHIN)

    async def kill(self) -> None:
        """End it with SIGKILL."""
        await self._program.kill()

    async def stop(self) -> None:
        """End it."""
        await self._program.stop()


def _command() -> str:
    """Beside the interpreter, as `make setup` installs it, or on PATH."""
    beside = Path(sys.executable).with_name("temporal")
    found = str(beside) if beside.exists() else shutil.which("temporal")
    if found is None:
        raise RuntimeError("There is no `temporal` command; `make setup` installs one.")
    return found


async def _knows(client: Client, namespace: str) -> bool:
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=namespace), timeout=_ANSWER)
    except (RPCError, RuntimeError):
        return False
    return True


@asynccontextmanager
async def temporal_server(folder: Path, dynamic: Mapping[str, int | str] | None = None) -> AsyncIterator[str]:
    """Run one server; yields its address, `host:port`. One is enough for many tests: see `new_namespace`."""
    server = TemporalServer(folder, dynamic)
    try:
        await server.start()
        yield server.address
    finally:
        await server.stop()


async def new_namespace(address: str) -> str:
    """Add a namespace and return its name: installations that share a server each need their own."""
    client = await Client.connect(address)
    name = f"test-{uuid4().hex[:12]}"
    keep = Duration(seconds=86_400)
    await client.workflow_service.register_namespace(
        RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=keep)
    )

    async def known() -> bool:
        return await _knows(client, name)

    await eventually(known, f"Temporal knows namespace {name}")
    return name
