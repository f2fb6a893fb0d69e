"""Jobs whose steps run elsewhere: the same job by each way, with connections cut in the middle."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from domain.steps.places import Docker, Kubernetes, Local, Place, TlsFiles
from fleet.client import RunnerClient
from fleet.executors.hands import Hands
from fleet.executors.hidden_folders import HiddenFolders
from fleet.executors.survivors import MARK
from fleet.executors.workspace import Slot
from fleet.job import read_job
from fleet.job_run import JobRun
from fleet.job_steps.local_service import LocalService, make_private
from fleet.state import JobStore
from fleet.stop import Cause
from steps.dialing import ByteStream
from steps.proto import step_runner_pb2 as messages
from tests.certificates import self_signed
from tests.fleet.conftest import LIMITS
from tests.fleet.job_steps.test_stage import job, log, script, section
from tests.fleet.job_users import needs_namespaces
from tests.fleet.server import ProtocolServer
from tests.steps.service.serving import Served, served
from tests.steps.ways.api_server import api_server
from tests.steps.ways.cutting import cut_at, relayed
from tests.steps.ways.docker_engine import docker_engine
from tests.steps.ways.following import proxy_to
from tests.steps.ways.ssh_server import ssh_server

CUTS = 3
LINES = 100_000


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


@asynccontextmanager
async def local(folder: Path, proxy: tuple[str, ...]) -> AsyncIterator[Place]:
    """A step runner that serves here already."""
    yield Local(proxy)


@asynccontextmanager
async def ssh(folder: Path, proxy: tuple[str, ...]) -> AsyncIterator[Place]:
    """A real sshd, behind a relay that cuts."""
    (folder / "ssh").mkdir()
    async with ssh_server(folder / "ssh") as server:

        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            return await asyncio.open_connection("127.0.0.1", server.port)

        async with relayed(connect, cut_at(5, CUTS)) as relay:
            yield server.place(relay.port, proxy)
            assert relay.done == CUTS


@asynccontextmanager
async def docker(folder: Path, proxy: tuple[str, ...]) -> AsyncIterator[Place]:
    """The HTTP API of an Engine, likewise."""

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(folder / "d.sock")

    async with docker_engine(folder / "d.sock"), relayed(connect, cut_at(6, CUTS)) as relay:
        yield Docker("job", f"tcp://127.0.0.1:{relay.port}", proxy=proxy)
        assert relay.done == CUTS


@asynccontextmanager
async def kubernetes(folder: Path, proxy: tuple[str, ...]) -> AsyncIterator[Place]:
    """The HTTP API of Kubernetes, likewise."""
    files = self_signed(folder, "kubernetes")
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    secure.load_cert_chain(files.certificate, files.key)
    (folder / "token").write_text("right\n")
    async with api_server(secure) as server:

        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            return await asyncio.open_connection("127.0.0.1", server.port)

        async with relayed(connect, cut_at(7, CUTS)) as relay:
            host, tls = f"https://127.0.0.1:{relay.port}", TlsFiles(folder / "kubernetes.crt")
            yield Kubernetes("job", "build", "ci", host, folder / "token", tls, proxy)
            assert relay.done == CUTS


MakePlace = Callable[[Path, tuple[str, ...]], Any]


def run_of(payload: dict[str, Any], place: Place, client: RunnerClient, store: JobStore, folder: Path) -> JobRun:
    """The job by our runner."""
    slot = Slot(folder / "builds", "abcdefghi", 0, steps=place)
    return JobRun(read_job(payload), slot, client, store, LIMITS)


@pytest.mark.parametrize("make", [local, ssh, docker, kubernetes], ids=lambda make: make.__name__)
async def test_steps_run_where_they_are_told_to(
    server: ProtocolServer, client: RunnerClient, store: JobStore, service: Served, tmp_path: Path, make: MakePlace
) -> None:
    calls = [
        script("a", f"seq {LINES}; pwd; echo made >made"),
        script("b", "cat made; echo ${{ vars.PASSWORD }}"),
    ]
    masked = [{"key": "PASSWORD", "value": "swordfish-12", "masked": True, "public": False}]
    async with make(tmp_path, proxy_to(service)) as place:
        run = run_of(job(calls, extra_variables=masked), place, client, store, tmp_path)
        await run.run()
        text = log(server)
        assert server.finals[1]["state"] == "success", text[-3000:]
    *lines, folder = section(text, "step_a").splitlines()
    assert lines == [str(number) for number in range(1, LINES + 1)]
    assert folder.startswith(str(tmp_path / "builds"))
    assert section(text, "step_b") == "made\n[MASKED]\n"
    async with service.client() as calls_of_service:
        assert list((await calls_of_service.List(messages.ListRequest())).jobs) == []  # it was closed


async def test_a_canceled_job_ends_its_steps_there(
    server: ProtocolServer, client: RunnerClient, store: JobStore, service: Served, tmp_path: Path
) -> None:
    waits = "trap 'echo cleaned; exit 1' TERM; echo waiting; while :; do sleep 0.02; done"
    run = run_of(job([script("a", waits)]), Local(proxy_to(service)), client, store, tmp_path)
    running = asyncio.create_task(run.run())
    await server.until(lambda: b"waiting\n" in server.logs[1])
    run.stop.order(Cause.CANCELED)
    await running
    assert section(log(server), "step_a").endswith("cleaned\n")
    assert service.left() == []


@needs_namespaces
async def test_a_place_without_the_folder_of_the_job_runs_nothing(
    server: ProtocolServer, client: RunnerClient, store: JobStore, tmp_path: Path
) -> None:
    """It stands in namespaces, where folders of this machine are not to be seen."""
    away = tmp_path / "away"
    away.mkdir()
    rights = HiddenFolders((tmp_path,), (away,))
    environment = {"PATH": os.environ["PATH"], MARK: "away"}
    hands = Hands(rights)
    elsewhere = LocalService(away / "s", environment, rights, hands)
    try:
        run = run_of(job([script("a", "echo never")]), Local(), client, store, tmp_path)
        run._step_place = lambda folder, workspace, hands: Elsewhere(folder, hands, elsewhere)  # type: ignore[method-assign]
        await run.run()
    finally:
        await hands.end_processes("away", grace=1)
        hands.close()
    assert server.finals[1]["failure_reason"] == "runner_system_failure"
    assert "is not here: steps run where the folder of the job is" in log(server)
    assert "never" not in log(server)


@dataclass
class Elsewhere:
    """A remote place whose way leads to a service of the test."""

    folder: Path
    hands: Hands
    service: LocalService

    async def prepare(self) -> None:
        """Make the folder, as for any."""
        await self.hands.do(make_private, self.folder)

    async def open(self) -> ByteStream:
        """A stream to it."""
        return await self.service.open()


async def test_a_way_that_leads_nowhere_is_told(
    server: ProtocolServer, client: RunnerClient, store: JobStore, tmp_path: Path
) -> None:
    run = run_of(job([script("a", "true")]), Docker("job", f"unix://{tmp_path}/none.sock"), client, store, tmp_path)
    run._limits = replace(LIMITS, stages=replace(LIMITS.stages, reach_steps=0.5))
    await run.run()
    assert server.finals[1]["failure_reason"] == "runner_system_failure"
    assert "No such file or directory" in log(server)
    assert "container job of the Docker Engine at unix://" in log(server)
