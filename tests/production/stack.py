"""All processes of a production, as docker-compose.yml has them: one API, two workers, the front and a runner."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rigs.ports import LOCAL, free_port
from rigs.postgres import fresh_database
from tests.deploy.front import front
from tests.production.bucket import Bucket, bucket
from tests.program import Program, environment, running
from tests.server import Server
from tests.temporal import temporal_server

WORKERS = 2
POD_NUMBER = 3
"""Not the first pod: its ids do not fit into 32 bits."""

CONFIG = """\
concurrent = 4
check_interval = 1

[perdure]
max_backoff = 1
max_retry_after = 1

[[runners]]
  name = "production"
  url = {url}
  token = {token}
  executor = "shell"
"""


@dataclass(frozen=True)
class Production:
    """What runs; `url` is the front's address, `database` the SQLAlchemy address."""

    url: str
    database: str
    bucket: Bucket
    api: Server
    workers: tuple[Server, ...]

    def client(self) -> httpx.AsyncClient:
        """An HTTP client of the administrator, through the front."""
        return self.api.client(self.url)


@asynccontextmanager
async def production(folder: Path, postgres: str) -> AsyncIterator[Production]:
    """Start everything at once on an empty database of the server `postgres`; end it in the other order."""
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(fresh_database(postgres))
        temporal = await stack.enter_async_context(temporal_server(folder))
        objects = await stack.enter_async_context(bucket(folder))
        port = free_port()
        url = await stack.enter_async_context(front(folder / "front", f"{LOCAL}:{port}"))
        settings: dict[str, Any] = {
            "home": folder / "home",
            "database_url": database,
            "object_store": objects.url,
            "external_url": url,
            "signing_key": signing_key(),
            "pod_number": POD_NUMBER,
            # Waits for jobs stay as long as they are in production: a lost notification is then noticed.
            "trace_interval": 1,
            "trace_interval_unwatched": 1,
            "reconcile_every": 5,
        }
        api = Server(
            folder / "api",
            temporal,
            variables=objects.variables,
            api_role="api",
            api_port=port,
            front_check=f"{url}/-/liveness",
            **settings,
        )
        workers = tuple(
            Server(folder / f"worker-{number}", temporal, variables=objects.variables, api_role="worker", **settings)
            for number in range(WORKERS)
        )
        for server in (api, *workers):
            await stack.enter_async_context(running(server.program))
        await asyncio.gather(*(server.ready() for server in (api, *workers)))
        made = Production(url, database, objects, api, workers)
        await stack.enter_async_context(_runner(folder, made))
        yield made


def signing_key() -> str:
    """A fresh one, as PEM."""
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@asynccontextmanager
async def _runner(folder: Path, made: Production) -> AsyncIterator[Program]:
    """A runner that takes jobs through the front."""
    async with made.client() as client:
        response = await client.post("/api/v4/user/runners", json={"runner_type": "instance_type"})
        assert response.status_code == httpx.codes.CREATED, response.text
    config = folder / "runner" / "config.toml"
    config.parent.mkdir()
    config.write_text(CONFIG.format(url=json.dumps(made.url), token=json.dumps(response.json()["token"])))
    argv: list[str | Path] = [sys.executable, "-m", "cli.main", "runner", "run", "--config", config]
    async with running(Program(argv, folder / "runner.log", env=environment())) as program:
        yield program
