"""`kill -9` of the server process exactly at a named point (`tests.faults.kill_points` has the table).

Whatever it had acknowledged is there when it is back, no job is given twice, and every pipeline ends; runners see 503
or a cut connection, nothing else (docs/reference/reliability.md, "Faults").
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from rigs.postgres import fresh_database
from tests.faults import oracle
from tests.faults.kill_points import ON_POSTGRESQL, POINTS, KillPoint, Story, owner_of
from tests.faults.killed_pod import KilledPod, killed_pod
from tests.faults.stock_runner import Acknowledged, Document, StockRunner
from tests.temporal import temporal_server
from tests.waiting import eventually

LOG = b"".join(b"line %d of a log\n" % number for number in range(8_000))
ARCHIVE = bytes(range(256)) * 2_000
REPORT = gzip.compress(b'<testsuite name="s"><testcase name="a" time="1.5"/></testsuite>')
MAX_STORY = 120.0


@pytest.fixture(scope="module")
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    # What a killed worker held of a workflow is given to the next after 2 s, not 10: nothing here is about that.
    quick = {"history.defaultWorkflowTaskTimeout": 2}
    async with temporal_server(tmp_path_factory.mktemp("temporal"), quick) as address:
        yield address


@pytest.fixture(scope="module")
async def sqlite_pod(temporal: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KilledPod]:
    async with killed_pod(tmp_path_factory.mktemp("sqlite") / "pod", temporal) as pod:
        yield pod


@pytest.fixture(scope="module")
async def postgres_pod(
    temporal: str, postgres: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[KilledPod]:
    folder = tmp_path_factory.mktemp("postgres") / "pod"
    async with fresh_database(postgres) as url, killed_pod(folder, temporal, database_url=url) as pod:
        yield pod


TARGETS = sorted({target for point in POINTS for step in point.steps for target in step.targets})


@pytest.mark.parametrize("target", TARGETS)
def test_each_place_exists(target: str) -> None:
    """Whoever renames a function of the product finds its point here."""
    owner_of(target)


def test_there_are_as_many_points_as_promised() -> None:
    names = {point.name for point in POINTS}
    assert len(names) == len(POINTS) >= 20
    assert names > ON_POSTGRESQL


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
async def test_killed(sqlite_pod: KilledPod, point: KillPoint, tmp_path: Path) -> None:
    await _killed(sqlite_pod, point, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "point", [point for point in POINTS if point.name in ON_POSTGRESQL], ids=lambda point: point.name
)
async def test_killed_on_postgresql(postgres_pod: KilledPod, point: KillPoint, tmp_path: Path) -> None:
    await _killed(postgres_pod, point, tmp_path)


async def _killed(pod: KilledPod, point: KillPoint, folder: Path) -> None:
    said = Acknowledged()
    async with pod.dying_at(point), asyncio.timeout(MAX_STORY):
        await STORIES[point.story](pod, said, uuid4().hex[:8], folder)
    await pod.over()
    await oracle.check(pod, said)


async def _life(pod: KilledPod, said: Acknowledged, tag: str, folder: Path) -> None:
    runner = await pod.register(said, tag)
    await pod.trigger(said, "life", tag)
    while not await _all_ended(pod):
        job = await runner.job()
        if job is not None:
            await runner.accept(job)
            await (_build if job["job_info"]["name"] == "build" else _check)(runner, job, folder)
    assert set(said.verdicts.values()) == {"success"}
    assert len(said.verdicts) >= 2


async def _build(runner: StockRunner, job: Document, folder: Path) -> None:
    await runner.fetch(job, folder / str(job["id"]))
    await runner.send(job, LOG[: len(LOG) // 2])
    await runner.upload(job, "archive", "zip", ARCHIVE)
    await runner.upload(job, "archive", "zip", ARCHIVE)  # its response was lost
    await runner.upload(job, "junit", "gzip", REPORT)
    await runner.end(job, LOG)  # half of the log is missing: the server says 412


async def _check(runner: StockRunner, job: Document, folder: Path) -> None:
    (dependency,) = job["dependencies"]
    assert await runner.download(dependency) == ARCHIVE
    await runner.send(job, LOG)
    await runner.end(job, LOG)


async def _all_ended(pod: KilledPod) -> bool:
    return await pod.rows("SELECT 1 FROM pipeline WHERE finished_at IS NULL") == []


async def _simple(pod: KilledPod, runner: StockRunner) -> None:
    """Do every job that there is, until all pipelines have ended."""
    while not await _all_ended(pod):
        job = await runner.job()
        if job is not None:
            await runner.accept(job)
            await runner.end(job, b"")


async def _job(runner: StockRunner) -> Document:
    return await eventually(runner.job, "there is a job", 60)


async def _vanish(pod: KilledPod, said: Acknowledged, tag: str, folder: Path) -> None:
    lost = await pod.register(said, tag)
    other = await pod.register(said, tag)
    pipeline = await pod.trigger(said, "two", tag)
    job = await _job(lost)
    await _simple(pod, other)
    (row,) = await pod.rows("SELECT hand_out, status FROM job WHERE id = :id", id=job["id"])
    assert (row.hand_out, row.status) == (2, "success")
    assert (await pod.project.get(f"pipelines/{pipeline}"))["status"] == "success"


async def _lost(pod: KilledPod, said: Acknowledged, tag: str, folder: Path) -> None:
    runner = await pod.register(said, tag)
    pipeline = await pod.trigger(said, "two", tag)
    jobs = [await _job(runner), await _job(runner)]
    for job in jobs:
        await runner.accept(job)
    await eventually(lambda: _all_ended(pod), "both jobs are given up", 90)
    for job in jobs:
        assert (await runner.say(job, "success")).status_code == 403
    assert (await pod.project.get(f"pipelines/{pipeline}"))["status"] == "failed"


async def _poison(pod: KilledPod, said: Acknowledged, tag: str, folder: Path) -> None:
    runner = await pod.register(said, tag)
    pipeline = await pod.trigger(said, "two", tag)
    await eventually(lambda: pod.rows("SELECT 1 FROM job WHERE status = 'pending' AND name = 'two'"), "they wait", 60)
    poison = '{"allow_failure": false}'  # enough for a second try to be made of it, but it has no script
    await pod.write("UPDATE job SET plan = :plan WHERE name = 'one' AND pipeline_id = :id", plan=poison, id=pipeline)
    await _simple(pod, runner)
    jobs = await pod.project.jobs(pipeline)
    assert (jobs["one"]["status"], jobs["one"]["failure_reason"]) == ("failed", "scheduler_failure")
    assert jobs["two"]["status"] == "success"
    assert [job["job_info"]["name"] for job in said.given] == ["two"]


async def _rotate(pod: KilledPod, said: Acknowledged, tag: str, folder: Path) -> None:
    runner = await pod.register(said, tag)
    before = runner.token
    await runner.rotate()
    response = await runner.call("POST", "/runners/verify", json={"token": runner.token, "system_id": "s_stock"})
    assert response.status_code == 200, response.text
    assert (await runner.call("POST", "/runners/verify", json={"token": before})).status_code == 403
    body: dict[str, Any] = {"token": runner.token, "system_id": "s_stock"}
    gone = await runner.call("DELETE", "/runners/managers", json=body)
    assert gone.status_code in {204, 404}, gone.text


async def _commit(pod: KilledPod, said: Acknowledged, tag: str, folder: Path) -> None:
    body = {"branch": "main", "content": tag, "commit_message": f"Add {tag}"}
    way = f"/api/v4/projects/{pod.project.id}/repository/files/{tag}"

    async def written() -> bool:
        try:
            response = await pod.project.client.post(way, json=body)
        except httpx.TransportError:
            return False
        if response.status_code == httpx.codes.BAD_REQUEST:
            assert response.json()["message"] == "A file with this name already exists"
            return True
        assert response.status_code in {201, 503}, response.text
        return response.status_code == httpx.codes.CREATED

    await eventually(written, "the file is there", 60)
    head = (await pod.project.get("repository/commits/main"))["id"]
    of_head = "SELECT id FROM pipeline WHERE sha = :sha AND source = 'push'"
    await eventually(lambda: pod.rows(of_head, sha=head), "the commit has its pipeline", 60)
    await pod.over()
    assert len(await pod.rows(of_head, sha=head)) == 1, "it has one, not two"
    assert await pod.rows("SELECT id FROM push WHERE done_at IS NULL") == []


STORIES: dict[Story, Callable[[KilledPod, Acknowledged, str, Path], Awaitable[None]]] = {
    Story.LIFE: _life,
    Story.VANISH: _vanish,
    Story.LOST: _lost,
    Story.POISON: _poison,
    Story.ROTATE: _rotate,
    Story.COMMIT: _commit,
}
