"""`kill -9` of every server process in the middle of the demo's pipeline, at random moments.

`PERDURE_FAULTS` says how often (3 in CI), `PERDURE_SEED` which moments; both are printed.
"""

import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.installation.demo import EXAMPLE, Scene
from domain.errors import PerdureError
from domain.pipelines.status import COMPLETE
from tests.faults.stack import SERVERS, Stack, jobs_of, pipeline_of, place_of_jobs, running
from tests.waiting import until

pytestmark = pytest.mark.slow

TIMES = int(os.environ.get("PERDURE_FAULTS", "3"))
SEED = int(os.environ.get("PERDURE_SEED", "20261121"))

UNDISTURBED = {"complexity": "failed", "explain failure": "skipped", "release": "manual"}
"""Every other job of the example succeeds."""


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with running(tmp_path / "home") as started:
        yield started


@pytest.fixture
def ledger() -> Iterator[Path]:
    with place_of_jobs() as folder:
        yield folder / "ledger"


def test_the_pipeline_ends_as_if_nothing_had_happened(stack: Stack, ledger: Path) -> None:
    scene = stack.scene()
    sha = stack.push(scene, EXAMPLE, RUN_LEDGER=str(ledger))
    pipeline_id = pipeline_of(scene, sha)["id"]
    runner = stack.pid("runner")
    kills = _kill_again_and_again(stack, scene, pipeline_id)
    status = until(lambda: _ended(scene, pipeline_id), 180)
    jobs = jobs_of(scene, pipeline_id)
    print(f"seed {SEED}: {kills} kills, pipeline {status}, {len(jobs)} jobs")
    assert kills == TIMES
    assert status == "success"
    assert stack.pid("runner") == runner
    assert {job["name"]: job["status"] for job in jobs} == {
        job["name"]: UNDISTURBED.get(job["name"], "success") for job in jobs
    }
    assert len({job["name"] for job in jobs}) == len(jobs) == 18, "no job had a second attempt"
    _no_script_ran_twice(ledger, jobs)
    _no_log_byte_is_missing(scene, jobs)


def _kill_again_and_again(stack: Stack, scene: Scene, pipeline_id: int) -> int:
    """Kill all servers at random moments of the pipeline; the built-in runner lives on."""
    moments = random.Random(SEED)
    pause = threading.Event()
    kills = 0
    while kills < TIMES and not _ended(scene, pipeline_id):
        pause.wait(moments.uniform(0.05, 0.6))
        stack.kill(*moments.sample(SERVERS, len(SERVERS)))
        kills += 1
        stack.up()
    return kills


def _ended(scene: Scene, pipeline_id: int) -> str:
    try:
        status = scene.api.get(f"/projects/{scene.project_id}/pipelines/{pipeline_id}")["status"]
    except PerdureError:
        return ""
    return str(status) if status in COMPLETE else ""


def _no_script_ran_twice(ledger: Path, jobs: list[dict[str, Any]]) -> None:
    lines = [line.split() for line in ledger.read_text().splitlines()]
    starts = Counter(words[0] for words in lines if words[-1] == "start")
    ends = Counter(words[0] for words in lines if words[-1] == "end")
    ran = {str(job["id"]) for job in jobs if job["started_at"]}
    assert starts == ends == Counter(ran)


def _no_log_byte_is_missing(scene: Scene, jobs: list[dict[str, Any]]) -> None:
    """The server checked each log's length and CRC-32 against the runner's own."""
    for job in jobs:
        if job["started_at"]:
            log = scene.api.text(f"/projects/{scene.project_id}/jobs/{job['id']}/trace")
            assert job["log_incomplete"] is False
            assert f"ran {job['name']}" in log, job["name"]
