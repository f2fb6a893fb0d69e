"""`kill -9` of the runner as well: its jobs are settled as their `retry` says, each attempt visible."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.installation.demo import Scene
from domain.pipelines.status import COMPLETE
from tests.faults.stack import SERVERS, Stack, jobs_of, pipeline_of, place_of_jobs, running
from tests.waiting import HANGS, until

pytestmark = pytest.mark.slow

CONFIG = """
tries again:
  retry: 1
  script: &wait
    - echo "$CI_JOB_ID" >> "$RUN_LEDGER"
    - until test -e "$MAY_END"; do sleep 0.1; done
gives up:
  script: *wait
afterwards:
  stage: deploy
  when: always
  script: "true"
"""


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with running(tmp_path / "home") as started:
        yield started


@pytest.fixture
def place() -> Iterator[Path]:
    with place_of_jobs() as folder:
        yield folder


@pytest.mark.parametrize("also_the_servers", [False, True], ids=["runner", "runner and servers"])
def test_its_jobs_are_settled_as_their_retry_says(
    stack: Stack, tmp_path: Path, place: Path, also_the_servers: bool
) -> None:
    scene, ledger, may_end = stack.scene(), place / "ledger", place / "may-end"
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".gitlab-ci.yml").write_text(CONFIG)
    sha = stack.push(scene, folder, RUN_LEDGER=str(ledger), MAY_END=str(may_end))
    pipeline_id = pipeline_of(scene, sha)["id"]
    until(lambda: ledger.exists() and len(ledger.read_text().split()) == 2, 60)
    stack.kill("runner", *(SERVERS if also_the_servers else ()))
    may_end.touch()
    stack.up()
    until(lambda: _status(scene, pipeline_id) in COMPLETE, 90)
    attempts: dict[str, list[dict[str, Any]]] = {}
    for job in jobs_of(scene, pipeline_id):
        attempts.setdefault(job["name"], []).append(job)
    assert [job["status"] for job in attempts["tries again"]] == ["failed", "success"]
    assert [job["attempt"] for job in attempts["tries again"]] == [1, 2]
    assert [job["status"] for job in attempts["gives up"]] == ["failed"]
    assert [job["status"] for job in attempts["afterwards"]] == ["success"]
    lost = {attempts["tries again"][0]["failure_reason"], attempts["gives up"][0]["failure_reason"]}
    assert lost <= {"runner_system_failure", "no_updates_running"}
    assert _status(scene, pipeline_id) == "failed"
    assert len(ledger.read_text().split()) == len(set(ledger.read_text().split())) == 3, "no attempt ran twice"


def _status(scene: Any, pipeline_id: int) -> str:
    return str(scene.api.get(f"/projects/{scene.project_id}/pipelines/{pipeline_id}")["status"])


def test_a_runner_that_falls_silent_loses_its_job(stack: Stack, tmp_path: Path) -> None:
    """Nobody comes back here: the lease alone decides."""
    scene, token, pipeline_id = _played_by_hand(stack, tmp_path, "alone: {tags: [silent], retry: 1, script: 'true'}\n")
    first = until(lambda: _claim(stack, token), 30)
    assert _say(stack, first, "running") == 200
    second = until(lambda: _claim(stack, token), 60)
    assert second["id"] != first["id"]
    assert _say(stack, first, "success") == 403
    assert _say(stack, second, "success") == 200
    until(lambda: _status(scene, pipeline_id) == "success", 30)
    lost, done = jobs_of(scene, pipeline_id)
    assert (lost["status"], lost["failure_reason"], lost["attempt"]) == ("failed", "no_updates_running", 1)
    assert (done["status"], done["attempt"]) == ("success", 2)


def test_a_job_that_nobody_took_up_goes_back_to_the_queue(stack: Stack, tmp_path: Path) -> None:
    scene, token, pipeline_id = _played_by_hand(stack, tmp_path, "alone: {tags: [silent], script: 'true'}\n")
    lost = until(lambda: _claim(stack, token), 30)
    again = until(lambda: _claim(stack, token), 60)
    assert again["id"] == lost["id"]
    assert _say(stack, lost, "success") == 403
    assert _say(stack, again, "success") == 200
    until(lambda: _status(scene, pipeline_id) == "success", 30)
    assert len(jobs_of(scene, pipeline_id)) == 1


def _played_by_hand(stack: Stack, tmp_path: Path, config: str) -> tuple[Scene, str, int]:
    """A pipeline for a runner that the test plays: the scene, the runner's token, the pipeline's id."""
    scene = stack.scene()
    wish = {"runner_type": "instance_type", "tag_list": "silent", "run_untagged": False}
    token = stack.root().post("/user/runners", **wish)["token"]
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".gitlab-ci.yml").write_text(config)
    return scene, token, pipeline_of(scene, stack.push(scene, folder))["id"]


def _claim(stack: Stack, token: str) -> dict[str, Any]:
    import httpx

    response = httpx.post(
        f"{stack.settings.url}/api/v4/jobs/request", json={"token": token}, trust_env=False, timeout=HANGS
    )
    return response.json() if response.status_code == 201 else {}


def _say(stack: Stack, job: dict[str, Any], state: str) -> int:
    import httpx

    url = f"{stack.settings.url}/api/v4/jobs/{job['id']}"
    return httpx.put(url, json={"token": job["token"], "state": state}, trust_env=False, timeout=HANGS).status_code
