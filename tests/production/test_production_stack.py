"""A pipeline through everything that production is made of, and one that outlives kill -9 of a worker and the API."""

import asyncio
import io
import json
import shutil
import signal
import zipfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from domain.object_keys import trace_key
from models.repositories.installation.installations import BLOCK
from rigs.postgres import DRIVER
from tests import invariants
from tests.production.stack import POD_NUMBER, Production, production
from tests.program import ROOT
from tests.project import Document, Project
from tests.waiting import eventually

pytestmark = pytest.mark.slow

EXAMPLE = ROOT / "examples" / "calculator"
NEVER_RUN = {"release", "explain failure"}
"""A manual job, and one that runs only after a failure."""
ENDS_WITHIN = 90.0


@pytest.fixture
async def stack(tmp_path: Path, postgres: str) -> AsyncIterator[Production]:
    """The whole production."""
    async with production(tmp_path, postgres) as made:
        yield made


async def test_pipelines_succeed_in_production_also_when_a_worker_and_the_api_are_killed(
    stack: Production, tmp_path: Path
) -> None:
    async with stack.client() as client:
        tree = tmp_path / "calculator"
        await asyncio.to_thread(shutil.copytree, EXAMPLE, tree)
        project = await Project.create(client, "calculator", tree, {})
        assert project.id > POD_NUMBER * BLOCK

        pipeline = await project.push(f"ci.variable=RUN_LEDGER={tmp_path / 'first'}")
        assert pipeline["web_url"].startswith(stack.url)
        await _succeeds_running_each_script_once(project, pipeline, tmp_path / "first")
        await _logs_become_objects(stack, project, pipeline)
        tests = await _reports_become_rows(stack, pipeline)
        await _artifacts_reach_the_next_job(stack, project, pipeline, tests)

        await project.commit({})
        pipeline = await project.push(f"ci.variable=RUN_LEDGER={tmp_path / 'second'}")
        await eventually(lambda: _half_done(project, pipeline["id"]), "the second pipeline is half done")
        await asyncio.gather(stack.workers[0].kill(), stack.api.kill())
        assert [stack.workers[0].program.returncode, stack.api.program.returncode] == [-signal.SIGKILL] * 2
        assert (await client.get("/-/ready")).status_code == 503
        await stack.api.start()
        await _succeeds_running_each_script_once(project, pipeline, tmp_path / "second")
        assert stack.workers[1].program.running
        await invariants.hold_at(stack.database)


async def _half_done(project: Project, pipeline_id: int) -> bool:
    """Whether some jobs have ended, some run, and some are still to come."""
    found = Counter(job["status"] for job in (await project.jobs(pipeline_id)).values())
    return bool(found["success"] >= 3 and found["running"] and found["created"])


async def _succeeds_running_each_script_once(project: Project, pipeline: Document, ledger: Path) -> None:
    """Each script writes a line into the ledger when it starts, and one when it has ended.

    A job may have an earlier attempt: one that fetched its sources while the API was killed. Its script never started.
    """
    ended = await project.ended(pipeline["id"], ENDS_WITHIN)
    jobs = await project.jobs(pipeline["id"])
    assert ended["status"] == "success", {name: job["status"] for name, job in jobs.items()}
    ran = {name: str(job["id"]) for name, job in jobs.items() if name not in NEVER_RUN}
    lines = _lines(ledger)
    assert Counter(name for _, name, when in lines if when == "start") == dict.fromkeys(ran, 1)
    for when in ("start", "end"):
        assert {name: job_id for job_id, name, which in lines if which == when and job_id in ran.values()} == ran
    assert len(lines) == len(set(lines))


def _lines(ledger: Path) -> list[tuple[str, str, str]]:
    """Job id, job name, and `start` or `end`."""
    words = [line.split(" ") for line in ledger.read_text().splitlines()]
    return [(job_id, " ".join(name), when) for job_id, *name, when in words]


async def _logs_become_objects(stack: Production, project: Project, pipeline: Document) -> None:
    """Each log is one object, which holds what the API shows."""
    jobs = [job for name, job in (await project.jobs(pipeline["id"])).items() if name not in NEVER_RUN]
    keys = {trace_key(project.id, job["id"], 0): job for job in jobs}

    async def stored() -> bool:
        return keys.keys() <= set(await asyncio.to_thread(lambda: list(stack.bucket.keys())))

    await eventually(stored, "every log is an object")
    for key, job in keys.items():
        log = (await asyncio.to_thread(stack.bucket.content, key)).decode()
        assert f"ran {job['name']}" in log
        assert log == await project.log(job["id"])


async def _reports_become_rows(stack: Production, pipeline: Document) -> int:
    """The JUnit reports of the three nodes are in the database; how many tests they hold."""
    statement = "SELECT total, failed, errored, error, cases FROM test_report WHERE pipeline_id = $1"

    async def read() -> list[Any] | None:
        rows = await _rows(stack, statement, pipeline)
        return rows if len(rows) == 3 else None

    rows = await eventually(read, "the reports are read, a moment after their upload", 60)
    assert [(row["failed"], row["errored"], row["error"]) for row in rows] == [(0, 0, "")] * 3
    assert all(len(json.loads(row["cases"])) == row["total"] > 0 for row in rows)
    return sum(row["total"] for row in rows)


async def _artifacts_reach_the_next_job(stack: Production, project: Project, pipeline: Document, tests: int) -> None:
    """The job `summary` adds up what it finds in the archives of four others."""
    job = (await project.jobs(pipeline["id"]))["summary"]
    statement = "SELECT object_key FROM artifact WHERE job_id = $1 AND file_type = 'archive'"
    [row] = await _rows(stack, statement, job)
    content = await asyncio.to_thread(stack.bucket.content, row["object_key"])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sums = json.loads(archive.read("release/summary.json"))
    assert sums == {"failed": 0, "random": 3000, "tests": tests}


async def _rows(stack: Production, statement: str, of: Document) -> list[Any]:
    connection = await asyncpg.connect(stack.database.replace(DRIVER, "postgresql://"))
    try:
        return list(await connection.fetch(statement, of["id"]))
    finally:
        await connection.close()
