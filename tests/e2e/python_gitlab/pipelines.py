"""Pipelines, schedules, jobs and their artifacts."""

import time
from typing import Any

from tests.e2e.python_gitlab.repository import CONFIG

JOBS = {"build", "check", "release", "deploy", "stop"}
ENDED = {"canceled", "success", "failed", "skipped"}


def pipelines_of(project: Any) -> Any:
    """Starts a pipeline; gives it back."""
    assert project.ci_lint.get().valid
    assert project.ci_lint.create({"content": CONFIG}).valid
    pipeline = project.pipelines.create({"ref": "main", "variables": [{"key": "LEVEL", "value": "3"}]})
    assert [(item.key, item.value) for item in pipeline.variables.list()] == [("LEVEL", "3")]
    assert project.pipelines.get(pipeline.id).source == "api"
    assert pipeline.id in {item.id for item in project.pipelines.list(ref="main", iterator=True)}
    assert project.pipelines.latest(ref="main").id == pipeline.id
    assert {item.name for item in pipeline.jobs.list()} == JOBS
    assert pipeline.bridges.list() == []
    return pipeline


def schedules_of(project: Any) -> None:
    """A schedule and its variables."""
    schedule = project.pipelineschedules.create(
        {"ref": "refs/heads/main", "description": "nightly", "cron": "0 3 * * *", "cron_timezone": "Europe/Berlin"}
    )
    variable = schedule.variables.create({"key": "NIGHTLY", "value": "1"})
    variable.value = "2"
    variable.save()
    schedule.description = "every night"
    schedule.save()
    assert project.pipelineschedules.get(schedule.id).attributes["variables"][0]["value"] == "2"
    variable.delete()
    assert len(project.pipelineschedules.list()) == 1
    schedule.take_ownership()
    schedule.pipelines.list(get_all=False)
    key = schedule.id
    assert schedule.play()["message"] == "201 Created"
    project.pipelineschedules.delete(key)


def jobs_of(project: Any, pipeline: Any) -> None:
    """Reads what has run, plays, retries, cancels."""
    jobs = {item.name: project.jobs.get(item.id) for item in pipeline.jobs.list(get_all=True)}
    assert (jobs["build"].status, jobs["release"].status) == ("success", "manual")
    assert b"played build" in jobs["build"].trace()
    assert {item.id for item in project.jobs.list(scope=["success"], get_all=True)} >= {jobs["build"].id}
    assert pipeline.test_report.get().total_count == 0
    assert pipeline.test_report_summary.get().total["count"] == 0
    artifacts_of(project, jobs["build"])
    jobs["release"].play()
    jobs["release"].cancel()
    jobs["check"].retry()
    jobs["check"].erase()
    pipeline.cancel()
    _await_end(project, pipeline)
    pipeline.retry()
    pipeline.cancel()
    _await_end(project, pipeline)


def _await_end(project: Any, pipeline: Any) -> None:
    deadline = time.monotonic() + 30
    while project.pipelines.get(pipeline.id).status not in ENDED:
        assert time.monotonic() < deadline


def end_all_of(project: Any) -> None:
    """Cancels what still runs."""
    for pipeline in project.pipelines.list(get_all=True):
        if pipeline.status not in ENDED:
            pipeline.cancel()
            _await_end(project, pipeline)


def artifacts_of(project: Any, job: Any) -> None:
    """The artifacts of a job, whole and file by file, by the job and by the ref."""
    assert job.artifacts()[:2] == b"PK"
    assert job.artifact("out/app") == b"app"
    assert project.artifacts.download("main", "build")[:2] == b"PK"
    assert project.artifacts.raw("main", "out/app", "build") == b"app"
    job.keep_artifacts()
    job.delete_artifacts()
    project.artifacts.delete()
