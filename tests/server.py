"""The real server process, `python -m worker`, for tests that start, kill and restart it."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from rigs.ports import LOCAL, free_port
from tests import invariants
from tests.program import Program, environment
from tests.waiting import HANGS, eventually

STARTED_WITHIN = 60.0
JOINED = "joined Temporal"
"""What a process that serves no HTTP logs when it is ready."""

SHORT_TIMES: dict[str, Any] = {
    "long_poll": 2,
    "queue_rescan": 1,
    "trace_interval": 1,
    "trace_interval_unwatched": 1,
    "reconcile_every": 5,
}
"""Settings (seconds) for tests that cannot wait as long as production can."""


class Server:
    """One server process; home, port and settings stay the same over its restarts.

    `settings` are fields of `Settings` and its limits by name, such as `long_poll=2` or `api_role="worker"`.
    """

    def __init__(
        self,
        folder: Path,
        temporal: str,
        *,
        module: str = "worker",
        variables: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        """`folder` takes home and log, `temporal` is `host:port`, `variables` are further environment variables.

        `module` is what Python runs.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.home = Path(str(settings.get("home", folder / "home")))
        self.port = int(str(settings.get("api_port", free_port())))
        self.url = f"http://{LOCAL}:{self.port}"
        self.role = str(settings.get("api_role", "all"))
        self._database = str(settings.get("database_url") or f"sqlite:///{self.home.resolve() / 'perdure.db'}")
        known: dict[str, object] = {
            "home": self.home,
            "host": LOCAL,
            "api_port": self.port,
            "external_url": self.url,
            "temporal_address": temporal,
            "metrics_port": 0,
            **settings,
        }
        names = {f"PERDURE_{name.upper()}": str(value) for name, value in known.items()}
        self.program = Program(
            [sys.executable, "-m", module], folder / "server.log", env=environment(**names, **(variables or {}))
        )

    @property
    def credentials(self) -> dict[str, str]:
        """What the first start wrote: `url`, `username`, `token`, `registration_token`."""
        found: dict[str, str] = json.loads((self.home / "credentials.json").read_bytes())
        return found

    async def start(self) -> None:
        """Start the process; returns when it is ready."""
        await self.program.start()
        await self.ready()

    async def ready(self) -> None:
        """Return when `/-/ready` says so (a worker: when it has joined Temporal)."""
        async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
            await eventually(lambda: self._is_ready(client), f"the {self.role} process is ready", STARTED_WITHIN)

    async def _is_ready(self, client: httpx.AsyncClient) -> bool:
        if not self.program.running:
            raise RuntimeError(f"The server ended at its start:\n{self.program.output()}")
        if self.role == "worker":
            return JOINED in self.program.output()
        try:
            return (await client.get(f"{self.url}/-/ready")).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    async def kill(self) -> None:
        """End the process with SIGKILL."""
        await self.program.kill()

    async def stop(self) -> None:
        """End the process with SIGTERM."""
        await self.program.stop()

    async def invariants_hold(self) -> None:
        """What SQL says once what is on its way has arrived; nothing if this process is not the one that works."""
        if self.role == "all" and self.program.running:
            await invariants.hold_at(self._database)

    async def restart(self) -> None:
        """Start the process again, after ending it if it still runs."""
        await self.stop()
        await self.start()

    def client(self, url: str = "") -> httpx.AsyncClient:
        """An HTTP client that acts as the administrator, straight or through the front at `url`."""
        return httpx.AsyncClient(
            base_url=url or self.url,
            headers={"PRIVATE-TOKEN": self.credentials["token"]},
            timeout=30,
            trust_env=False,
        )


@asynccontextmanager
async def running_server(folder: Path, temporal: str, **options: Any) -> AsyncIterator[Server]:
    """A server from ready to ended; `options` are those of `Server`. When the block fails, its log goes to stderr.

    One that still runs at the end and works by itself leaves a database in which every invariant holds at rest.
    """
    server = Server(folder, temporal, **options)
    try:
        await server.start()
        yield server
        await server.invariants_hold()
    except BaseException:
        sys.stderr.write(f"--- {server.role} ---\n{server.program.output()[-12000:]}\n")
        raise
    finally:
        await server.stop()
