"""The disk of a runner is full: the server hears of every job that it has taken, and no further one is asked for."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleet.client import RunnerClient
from fleet.executors.workspace import Slot
from fleet.job import read_job
from fleet.job_run import JobRun
from fleet.recovery import deliver_record
from fleet.state import JobRecord, JobStore
from tests.fleet.conftest import LIMITS
from tests.fleet.jobs import payload
from tests.fleet.runner_process import Start
from tests.fleet.server import ProtocolServer
from tests.small_disk import fill, make_room, small_disk
from tests.waiting import HANGS, comes_true

Make = Callable[[list[str]], JobRun]


@pytest.fixture(params=["jobs", "logs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Where the records of jobs are, or their logs, and nothing else."""
    (tmp_path / "state").mkdir()
    with small_disk(tmp_path / "state" / request.param, "4m") as disk:
        yield disk


only_records = pytest.mark.parametrize("disk", ["jobs"], indirect=True)


@pytest.fixture
def make(disk: Path, client: RunnerClient, store: JobStore, tmp_path: Path) -> Make:
    """Make the run of a job."""

    def make(script: list[str]) -> JobRun:
        return JobRun(read_job(payload(script)), Slot(tmp_path / "builds", "abcdefghi", 0), client, store, LIMITS)

    return make


@only_records
async def test_a_job_that_cannot_be_kept_fails_and_says_so(
    server: ProtocolServer, make: Make, disk: Path, store: JobStore
) -> None:
    fill(disk)
    await make(["echo never"]).run()
    final = server.finals[1]
    assert (final["state"], final["failure_reason"]) == ("failed", "runner_system_failure")
    assert b"the runner cannot keep it: No space left on device" in server.logs[1]
    assert b"never" not in server.logs[1]
    make_room(disk)
    assert store.load() == []


async def test_a_job_during_which_the_disk_fills_is_delivered(
    server: ProtocolServer, make: Make, disk: Path, store: JobStore, tmp_path: Path
) -> None:
    """Without room for its record its verdict comes all the same; without room for its log it failed."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    run = asyncio.create_task(
        make([f"touch {begun}; until [ -e {go} ]; do sleep 0.05; done; seq 1 20000", "exit 3"]).run()
    )
    await comes_true(begun.exists)
    fill(disk)
    go.touch()
    await asyncio.wait_for(run, HANGS)
    final = server.finals[1]
    expected = "script_failure" if disk.name == "jobs" else "runner_system_failure"
    assert (final["state"], final["failure_reason"]) == ("failed", expected)
    make_room(disk)
    assert store.load() == []


async def test_the_end_of_a_job_of_a_killed_runner_is_told_without_room(
    server: ProtocolServer, client: RunnerClient, disk: Path, store: JobStore
) -> None:
    log = store.log_file(1, client.url, "token")
    log.touch()
    record = JobRecord(1, "token", client.url, str(log), "mark")
    store.save(record)
    fill(disk)
    await deliver_record(record, client, store, LIMITS.delivery)
    assert server.finals[1]["failure_reason"] == "runner_system_failure"
    assert store.load() == []


@only_records
async def test_no_job_is_taken_without_room_and_all_go_on_with_it(
    server: ProtocolServer, start: Start, disk: Path
) -> None:
    def asked() -> int:
        return len(server.calls("POST", "/jobs/request"))

    async def asked_later() -> int:
        await asyncio.sleep(1)
        return asked()

    await start()
    await server.until(lambda: asked() > 0)
    fill(disk)
    async with asyncio.timeout(HANGS):
        while (before := asked()) != await asked_later():  # it asks twenty times a second where it may
            pass
    server.queue.append(payload())
    assert await asked_later() == before
    make_room(disk)
    await server.until(lambda: 1 in server.finals)
    assert server.finals[1]["state"] == "success"
