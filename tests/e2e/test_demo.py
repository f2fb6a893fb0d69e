"""The demo's pipeline, whole and undisturbed: order, artifacts, reports, and what Temporal shows of it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cli.installation.demo import EXAMPLE, Scene
from cli.installation.ports import FIELDS
from domain.config.plan import Plan
from domain.pipelines.status import COMPLETE
from pods.stack import temporal_command
from rigs.ports import free_ports
from tests.compiling import plan_of
from tests.faults.stack import Stack, jobs_of, pipeline_of, running
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("demo") / "home") as started:
        yield started


@pytest.fixture(scope="module")
def scene(stack: Stack) -> Scene:
    return stack.scene()


@pytest.fixture(scope="module")
def pipeline(stack: Stack, scene: Scene) -> dict[str, Any]:
    """The finished pipeline, and what Temporal said while it ran."""
    made = pipeline_of(scene, stack.push(scene, EXAMPLE))
    waiting = until(lambda: _pending_activities(stack, made["id"]), 60)
    route = f"/projects/{scene.project_id}/pipelines/{made['id']}"
    until(lambda: scene.api.get(route)["status"] in COMPLETE, 120)
    return {**scene.api.get(route), "waiting": waiting, "jobs": jobs_of(scene, made["id"])}


def _temporal(stack: Stack, *words: str) -> Any:
    address = f"127.0.0.1:{stack.settings.temporal_port}"
    argv = [temporal_command(), "workflow", *words, "--address", address, "--output", "json"]
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def _pending_activities(stack: Stack, pipeline_id: int) -> set[str]:
    try:
        found = _temporal(stack, "describe", "--workflow-id", f"pipeline-{pipeline_id}")
    except subprocess.CalledProcessError:
        return set()
    return {item["activityId"] for item in found.get("pendingActivities", ()) if item["activityId"].startswith("job-")}


def test_it_succeeds_with_one_attempt_of_each_job(pipeline: dict[str, Any]) -> None:
    assert pipeline["status"] == "success"
    statuses = {job["name"]: job["status"] for job in pipeline["jobs"]}
    assert len(statuses) == len(pipeline["jobs"]) == 18
    others = {"complexity": "failed", "explain failure": "skipped", "release": "manual"}
    assert statuses == {name: others.get(name, "success") for name in statuses}


def test_who_is_named_as_the_one_to_push_as_is_who_pushed(pipeline: dict[str, Any], scene: Scene) -> None:
    assert scene.username == pipeline["user"]["username"]


def test_every_job_began_after_what_it_needs_had_ended(pipeline: dict[str, Any]) -> None:
    plan = plan_of((EXAMPLE / ".gitlab-ci.yml").read_text())
    times = {job["name"]: (_time(job["started_at"]), _time(job["finished_at"])) for job in pipeline["jobs"]}
    for job in plan.jobs:
        begin = times[job.name][0]
        for name in _before(plan, job.name):
            end = times[name][1]
            if begin and end:
                assert end <= begin, f"{job.name} began before {name} had ended"


def _before(plan: Plan, name: str) -> list[str]:
    job = next(job for job in plan.jobs if job.name == name)
    if job.needs is not None:
        return [need.job for need in job.needs]
    place = plan.stages.index(job.stage)
    return [other.name for other in plan.jobs if plan.stages.index(other.stage) < place]


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def test_artifacts_of_one_job_are_read_by_the_next(pipeline: dict[str, Any], scene: Scene) -> None:
    """`summary` fails where the reports of the test jobs are missing."""
    job = next(job for job in pipeline["jobs"] if job["name"] == "summary")
    log = scene.api.text(f"/projects/{scene.project_id}/jobs/{job['id']}/trace")
    assert job["status"] == "success"
    assert "Downloading artifacts" in log


def _whole(report: dict[str, Any]) -> dict[str, Any] | None:
    """The report when every job that hands one in has its suite."""
    plan = plan_of((EXAMPLE / ".gitlab-ci.yml").read_text())
    wanted = {job.name for job in plan.jobs if job.artifacts is not None and "junit" in job.artifacts.reports}
    return report if wanted <= {suite["name"] for suite in report["test_suites"]} else None


def test_the_junit_reports_are_stored(pipeline: dict[str, Any], scene: Scene) -> None:
    """They are read a moment after their upload: the last job's are there when those of all are."""
    route = f"/projects/{scene.project_id}/pipelines/{pipeline['id']}/test_report"
    report = until(lambda: _whole(scene.api.get(route)), 30)
    assert report["failed_count"] == 0


def test_temporal_shows_the_pipeline_by_its_search_attributes(pipeline: dict[str, Any], stack: Stack) -> None:
    query = (
        f"CiPipelineId = {pipeline['id']} AND CiProject = 'demo/calculator' AND CiRef = 'main' AND CiSource = 'push'"
    )
    (found,) = until(lambda: _temporal(stack, "list", "--query", f"{query} AND CiStatus = 'success'"), 20)
    assert found["execution"]["workflowId"] == f"pipeline-{pipeline['id']}"
    assert found["type"]["name"] == "Pipeline"


def test_temporal_showed_the_running_jobs_as_pending_activities(pipeline: dict[str, Any]) -> None:
    ids = {f"job-{job['id']}" for job in pipeline["jobs"]}
    assert pipeline["waiting"]
    assert pipeline["waiting"] <= ids


def test_a_second_demo_goes_on_from_the_first(pipeline: dict[str, Any], stack: Stack, scene: Scene) -> None:
    """Its branch is protected, so that what is there cannot be replaced."""
    again = pipeline_of(scene, stack.push(scene, EXAMPLE))
    assert again["id"] > pipeline["id"]
    commits = scene.api.get(f"/projects/{scene.project_id}/repository/commits")
    assert commits[0]["parent_ids"] == [commits[1]["id"]] == [pipeline["sha"]]


def test_the_command_prints_one_document_and_stops_what_it_started(tmp_path: Path) -> None:
    ports = dict(zip(FIELDS, free_ports(len(FIELDS)), strict=True))
    chosen = {f"PERDURE_{field.upper()}": str(port) for field, port in ports.items()}
    environment = {**os.environ, **chosen, "PERDURE_HOME": str(tmp_path / "home")}
    argv = [sys.executable, "-m", "cli.main", "demo", "--exit", "--json"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["status"] == "success"
    assert {tuple(job) for job in document["jobs"]} == {
        ("name", "stage", "status", "attempt", "started_at", "finished_at")
    }
    assert list((tmp_path / "home" / "run").glob("*.json")) == []
