"""A protocol server, a client with short waits, and a way to run one job."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet.backoff import Backoff
from fleet.client import RunnerClient
from fleet.delivery import DeliveryTimes
from fleet.executors.hidden_folders import HiddenFolders
from fleet.executors.workspace import Slot
from fleet.features import runner_info
from fleet.job import read_job
from fleet.job_run import JobRun, RunLimits
from fleet.stages import StageTimes
from fleet.state import JobStore
from tests.fleet import runner_process
from tests.fleet.job_users import needs_namespaces, needs_root, other_user
from tests.fleet.repository import Repository, make_repository
from tests.fleet.server import ProtocolServer

SHORT = Backoff(first=0.005, ceiling=0.02, retry_after_limit=0.03)
LIMITS = RunLimits(
    delivery=DeliveryTimes(first=0.02, interval=0.03, heartbeat=0.1),
    stages=StageTimes(grace=0.5, after_script=20, source_pause=0.01),
)

RunJob = Callable[..., Awaitable[JobRun]]
start = runner_process.start_runner


@pytest.fixture
async def server() -> AsyncIterator[ProtocolServer]:
    server = ProtocolServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path)


@pytest.fixture
async def client(server: ProtocolServer) -> AsyncIterator[RunnerClient]:
    async with RunnerClient(
        server.url, "glrt-abcdefghijkl", system_id="s_0123456789ab", info=runner_info(), backoff=SHORT
    ) as client:
        yield client


@pytest.fixture
def store(tmp_path: Path) -> Iterator[JobStore]:
    store = JobStore(tmp_path / "state")
    store.lock()
    yield store
    store.unlock()


@pytest.fixture(params=["own", pytest.param("other", marks=needs_root), pytest.param("hidden", marks=needs_namespaces)])
def slot(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Slot]:
    """Where jobs run: as the user of the tests, as another one, and in namespaces."""
    if request.param != "other":
        builds = tmp_path / "builds"
        hidden = HiddenFolders((tmp_path,), (builds,)) if request.param == "hidden" else None
        yield Slot(builds, "abcdefghi", 0, rights=hidden)
        return
    with other_user() as user:
        yield Slot(user.home / "builds", "abcdefghi", 0, rights=user)


@pytest.fixture
def make_run(client: RunnerClient, store: JobStore, slot: Slot) -> Callable[..., JobRun]:
    def make(payload: dict[str, Any], limits: RunLimits = LIMITS) -> JobRun:
        return JobRun(read_job(payload), slot, client, store, limits)

    return make
