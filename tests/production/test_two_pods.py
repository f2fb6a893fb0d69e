"""The topology of deploy/pods/docker-compose.yml without containers: its commands with its variables, as processes.

What differs: addresses, ports, and no TLS to Temporal; nginx is left out. Fifteen processes start, which takes most
of its 25 s of processor time, and nothing smaller shows that the variables of that file make two pods.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import asyncpg
import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from temporalio.client import Client

from domain.pods.directory import BLOCK_BITS
from pods.directory_client import DirectoryClient
from rigs.ports import LOCAL, free_port
from rigs.postgres import DRIVER, OWNER
from tests.deploy.test_compose_pods import FOLDER, PODS, compose
from tests.e2e.player import Player
from tests.postgres import postgres_programs, postgres_server
from tests.production.bucket import Bucket, bucket
from tests.program import Program, environment, running
from tests.project import Project
from tests.server import JOINED
from tests.temporal import temporal_server
from tests.waiting import HANGS, eventually

pytestmark = pytest.mark.slow

CONFIG: Final = "build: {script: 'true'}\ntest: {script: 'true', needs: [build]}\n"


@dataclass
class Topology:
    """The set; `places` says where what the file names by a container's name and port is."""

    folder: Path
    values: Mapping[str, str]
    places: dict[str, str]
    bucket: Bucket

    def program(self, service: str, *command: str, **changed: str) -> Program:
        """A service of the file that is not started yet, perhaps with another command."""
        said = compose()["services"][service]
        own = {name: self._here(str(value)) for name, value in said["environment"].items() if value is not None}
        own = {name: value for name, value in own.items() if "_TLS_" not in name}
        # What is of one pod is in the volume of that name.
        home = self.folder / (service.split("-")[0])
        home.mkdir(exist_ok=True)
        metrics = ("PERDURE_METRICS_PORT", "PERDURE_FRONT_METRICS_PORT", "PERDURE_DIRECTORY_METRICS_PORT")
        fixed = {"PERDURE_HOME": str(home), **dict.fromkeys(metrics, "0")}
        hosts = {name: LOCAL for name in own if name in {"PERDURE_HOST", "PERDURE_DIRECTORY_HOST"}}
        words = [sys.executable if word == "python" else word for word in command or said["command"]]
        words = [str(FOLDER / word[1:]) if word == "/directory.sh" else word for word in words]
        return Program(words, self.folder / f"{service}.log", env=environment(**own | fixed | hosts | changed))

    def _here(self, text: str) -> str:
        text = _filled_in(text, self.values)
        for name, place in self.places.items():
            text = text.replace(name, place)
        return text

    def database(self, pod: str) -> str:
        """Address of a pod's database, as its own role."""
        return f"postgresql://perdure@{self.places[f'{pod}-postgresql:5432']}/perdure"


def _values() -> dict[str, str]:
    """What an operator fills in."""
    found = {name: f"{name.lower()}x" + "x" * 32 for name in re.findall(r"\$\{(\w+):\?", str(compose()))}
    for pod in PODS:
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        found[f"{pod.upper()}_SIGNING_KEY"] = pem
    return found


def _filled_in(text: str, values: Mapping[str, str]) -> str:
    """As `docker compose` reads `${NAME:?message}` and `${NAME:-default}`."""
    return re.sub(r"\$\{(\w+):(?:-(\w*)|[^}]*)\}", lambda found: values.get(found[1]) or found[2] or "", text)


async def _server(stack: AsyncExitStack, service: str, values: Mapping[str, str]) -> str:
    """A database server as its container makes it; `host:port`."""
    said = compose()["services"][service]
    (script,) = (mount.split(":")[0] for mount in said["volumes"] if "/docker-entrypoint-initdb.d/" in mount)
    server = postgres_server()
    address = await asyncio.to_thread(server.__enter__)
    stack.push(server.__exit__)
    place = address.removeprefix(DRIVER).rpartition("/")[0].rpartition("@")[2]
    for who, statement in (
        (OWNER, "CREATE ROLE admin SUPERUSER LOGIN"),
        ("admin", f"ALTER ROLE {OWNER} RENAME TO rig"),
    ):
        connection = await asyncpg.connect(f"postgresql://{who}@{place}/postgres")
        await connection.execute(statement)
        await connection.close()
    host, _, port = place.partition(":")
    passwords = {name: _filled_in(value, values) for name, value in said["environment"].items()}
    given = {**passwords, "POSTGRES_USER": "admin", "POSTGRES_DB": "postgres", "PGHOST": host, "PGPORT": port}
    given["PATH"] = f"{postgres_programs()}:{environment()['PATH']}"
    made = await asyncio.create_subprocess_exec("bash", FOLDER / script, env=given)
    assert await made.wait() == 0
    return place


@pytest.fixture
async def set_of_two(tmp_path: Path) -> AsyncIterator[Topology]:
    """All of it, started in the order that the file says."""
    async with AsyncExitStack() as stack:
        values = _values()
        places: dict[str, str] = {}
        servers = ["shared-postgresql", *(f"{pod}-postgresql" for pod in PODS)]
        found = await asyncio.gather(*(_server(stack, service, values) for service in servers))
        places |= {f"{service}:5432": place for service, place in zip(servers, found, strict=True)}
        objects = await stack.enter_async_context(bucket(tmp_path))
        places["http://object-store:9000"] = objects.variables["AWS_ENDPOINT"]
        places["temporal:7233"] = await stack.enter_async_context(temporal_server(tmp_path))
        places["directory:8938"] = f"{LOCAL}:{free_port()}"
        places["front:8929"] = f"{LOCAL}:{free_port()}"
        values["PERDURE_EXTERNAL_URL"] = f"http://{places['front:8929']}"
        made = Topology(tmp_path, values, places, objects)
        port = places["directory:8938"].rpartition(":")[2]
        directory = made.program("directory", PERDURE_DIRECTORY_PORT=port)
        await stack.enter_async_context(running(directory))
        await _answers(f"http://{places['directory:8938']}/-/health")
        ports = {pod: str(free_port()) for pod in PODS}
        await asyncio.gather(*(_create(made, pod, ports[pod]) for pod in PODS))
        workers = []
        for pod in PODS:
            await stack.enter_async_context(running(made.program(f"{pod}-api", PERDURE_API_PORT=ports[pod])))
            workers.append(await stack.enter_async_context(running(made.program(f"{pod}-worker"))))
        front = made.program("router", PERDURE_FRONT_PORT=places["front:8929"].rpartition(":")[2])
        await stack.enter_async_context(running(front))
        for number in PODS.values():
            await _answers(f"http://{places['front:8929']}/-/front/api?pod={number}")
        for worker in workers:
            await eventually(partial(_says, worker), "a worker has joined Temporal", 60)
        yield made


async def _create(made: Topology, pod: str, port: str) -> None:
    made.bucket.make(f"perdure-{pod}")
    program = made.program(f"{pod}-create", PERDURE_API_PORT=port)
    await program.start()
    assert await program.wait(60) == 0, program.output()


async def _says(program: Program) -> bool:
    return JOINED in program.output()


async def _answers(url: str) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:

        async def look() -> bool:
            try:
                return (await client.get(url)).status_code == httpx.codes.OK
            except httpx.TransportError:
                return False

        await eventually(look, f"{url} answers", 60)


async def test_a_pipeline_in_each_pod_of_the_container_set(set_of_two: Topology, tmp_path: Path) -> None:
    """By one address; rows, objects and histories of each are in its own database, bucket and namespace."""
    ran = dict(zip(PODS, await asyncio.gather(*(_run(set_of_two, pod, tmp_path) for pod in PODS)), strict=True))
    for pod, number in PODS.items():
        project_id, pipeline_id = ran[pod]
        assert project_id >> BLOCK_BITS == pipeline_id >> BLOCK_BITS == number
        connection = await asyncpg.connect(set_of_two.database(pod))
        rows = await connection.fetch("SELECT id, status FROM job")
        runners = [row["id"] >> BLOCK_BITS for row in await connection.fetch("SELECT id FROM runner")]
        role = await connection.fetchrow("SELECT * FROM pg_roles WHERE rolname = current_user")
        await connection.close()
        assert [row["status"] for row in rows] == ["success"] * 2
        assert {row["id"] >> BLOCK_BITS for row in rows} == {number}
        assert runners == [number], "the pod's own runner, and not the other one's"
        assert not any(role[name] for name in ("rolsuper", "rolcreatedb", "rolcreaterole", "rolreplication"))
        await eventually(partial(_logs, set_of_two, pod), f"the logs of {pod} are in its bucket", 30)
        keys = list(set_of_two.bucket.keys(f"perdure-{pod}"))
        assert {int(part) >> BLOCK_BITS for key in keys for part in key.split("/") if part.isdecimal()} == {number}
        client = await Client.connect(set_of_two.places["temporal:7233"], namespace=pod)
        found = [one.id async for one in client.list_workflows('WorkflowType="Pipeline"')]
        assert found == [f"pipeline-{pipeline_id}"]
    drain = set_of_two.program("two-create", "python", "-m", "cli.main", "pod", "drain", "two")
    await drain.start()
    assert await drain.wait(60) == 0, drain.output()
    read = set_of_two.values["DIRECTORY_READ_TOKEN"]
    async with DirectoryClient(f"http://{set_of_two.places['directory:8938']}", lambda: read) as directory:
        told = await directory.changes()
    assert {entry["name"]: entry["number"] for entry in told.pods} == PODS
    assert {entry["name"]: entry.get("state", "active") for entry in told.pods} == {"one": "active", "two": "draining"}
    assert not [pod for pod in PODS if (tmp_path / pod / "perdure.db").exists()], "nothing is in SQLite"


async def _logs(made: Topology, pod: str) -> bool:
    return len(list(made.bucket.keys(f"perdure-{pod}"))) >= 2


async def _run(made: Topology, pod: str, folder: Path) -> tuple[int, int]:
    """Project and pipeline, by an HTTP runner of the pod through the router."""
    known = json.loads((folder / pod / "credentials.json").read_text())
    url = made.values["PERDURE_EXTERNAL_URL"]
    headers = {"PRIVATE-TOKEN": known["token"]}
    async with (
        httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60) as client,
        httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as of_runner,
    ):
        project = await Project.create(client, "calculator", folder / f"tree-{pod}", {".gitlab-ci.yml": CONFIG})
        player = Player(of_runner, known["registration_token"])
        await player.register()
        pipeline = await project.push()
        assert await player.play_until_idle(project, pipeline["id"]) == ["build", "test"]
        assert (await project.get(f"pipelines/{pipeline['id']}"))["status"] == "success"
        return project.id, int(pipeline["id"])
