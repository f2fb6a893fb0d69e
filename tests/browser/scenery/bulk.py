"""A pipeline of a thousand jobs, some of which have run, and a job with a long log: by the doors that a runner uses."""

from dataclasses import dataclass
from typing import Any, Final

import httpx
import yaml

from tests.browser.live_stack import PATIENCE, LiveStack, Person
from tests.faults.stock_runner import Acknowledged, StockRunner
from tests.waiting import eventually

PATH: Final = "acme/bulk"
TAG: Final = "bulk"
JOBS: Final = 1_000
LINES: Final = 20_000
_RUN: Final = 40
"""Jobs that are handed out."""


@dataclass
class Bulk:
    """The project with its pipeline, and the job of the long log."""

    id: int
    pipeline: int
    long_job: int


def config() -> str:
    """Three stages; the jobs of the later ones need one of the earlier each."""
    jobs: dict[str, Any] = {"default": {"tags": [TAG]}, "stages": ["build", "test", "deploy"]}
    build, test = JOBS * 4 // 10, JOBS * 3 // 10
    for number in range(build):
        jobs[f"build {number}"] = {"stage": "build", "script": ["make"]}
    for number in range(test):
        jobs[f"test {number}"] = {"stage": "test", "script": ["make"], "needs": [f"build {number}"]}
    for number in range(JOBS - build - test):
        jobs[f"deploy {number}"] = {"stage": "deploy", "script": ["make"], "needs": [f"test {number % test}"]}
    return yaml.safe_dump(jobs, sort_keys=False)


def long_log(lines: int = LINES) -> bytes:
    """Sections of a hundred lines each, colours, and the error at the end."""
    parts = [b"Running on a machine\n"]
    for number in range(lines):
        section = b"part_%d" % (number // 100)
        if number % 100 == 0:
            parts.append(b"section_start:%d:%s\r\x1b[0KPart %d\n" % (1_700_000_000 + number, section, number // 100))
        parts.append(b"\x1b[3%dmline\x1b[0m %d of many\n" % (number % 7 + 1, number))
        if number % 100 == 99:
            parts.append(b"section_end:%d:%s\r\x1b[0K\n" % (1_700_000_050 + number, section))
    return b"".join(parts) + b"\x1b[31;1mERROR: Job failed: exit code 1\x1b[0m\n"


async def make_bulk(live: LiveStack, group_id: int, owner: Person) -> Bulk:
    """The project; a runner takes some of its jobs, most pass, one fails with the long log."""
    made = await live.project(owner, group_id, "Bulk", visibility="private")
    sha = await live.push(owner, PATH, {".gitlab-ci.yml": config()}, "A thousand jobs")
    pipeline = await live.pipeline(owner, made["id"], sha)
    registration = live.stack.credentials()["registration_token"]
    async with httpx.AsyncClient(base_url=live.url, timeout=60, trust_env=False) as client:
        runner = StockRunner(client, Acknowledged(), stamps=False)  # an older one
        await runner.register(registration, TAG)
        long_job = await _run_some(runner)
    return Bulk(made["id"], pipeline["id"], long_job)


async def _run_some(runner: StockRunner) -> int:
    long_job = 0
    done = 0
    while done < _RUN:
        job = await eventually(runner.job, "a job is handed out", PATIENCE)
        done += 1
        await runner.accept(job)
        if done == 1:
            log = long_log()
            await runner.send(job, log)
            await runner.end(job, log, "failed", failure_reason="script_failure", exit_code=1)
            long_job = job["id"]
        elif done < _RUN:
            await runner.end(job, b"")
    return long_job
