"""A script written for GitLab works by changing the address: python-gitlab, unpatched, against the real server.

What the script does is in `tests/e2e/python_gitlab/`, a module for each subject: all of it uses one server. What is
new is called there, and from `before_jobs` or `after_jobs` here.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gitlab
import httpx
import pytest
import requests

from tests.api.v4.jobs.test_artifacts import archive
from tests.e2e.player import Player
from tests.e2e.python_gitlab import (
    deploying,
    merge_requests,
    people,
    pipelines,
    planning,
    repository,
    runners,
    settings,
    sharing,
)
from tests.e2e.python_gitlab.calls import Calls
from tests.routed import ADMINISTRATOR, server_behind_router
from tests.server import SHORT_TIMES, Server
from tests.temporal import temporal_server
from tests.waiting import eventually

pytestmark = pytest.mark.slow

LEAST = 220
"""So many different calls at least."""


@dataclass
class Place:
    """The running server and a client of it."""

    server: Server
    gl: gitlab.Gitlab
    calls: Calls


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """One of two pods behind a router, and python-gitlab with its administrator's token."""
    async with temporal_server(tmp_path) as temporal, server_behind_router(tmp_path, temporal, **SHORT_TIMES) as server:
        calls, session = Calls(), requests.Session()
        session.hooks["response"].append(calls.note)
        gl = gitlab.Gitlab(server.url, private_token=server.credentials["token"], session=session)
        yield Place(server, gl, calls)


async def run_jobs(place: Place, pipeline: Any) -> None:
    """Play every job that starts by itself, with the artifacts of `build`."""
    async with place.server.client() as client:
        player = Player(client, place.server.credentials["registration_token"])
        await player.register()

        async def all_have_run() -> bool:
            if (job := await player.ask()) is not None:
                if job["artifacts"]:
                    await upload(client, job)
                assert await player.finish(job) == 200
                return False
            listed = await asyncio.to_thread(pipeline.jobs.list, get_all=True)
            return {item.status for item in listed} == {"success", "manual"}

        await eventually(all_have_run, "every job but the manual ones has run", 60)


async def upload(client: httpx.AsyncClient, job: dict[str, Any]) -> None:
    """Send the artifacts of a job, as its runner does."""
    files = {"file": ("artifacts.zip", archive({"out/app": "app"}))}
    data = {"artifact_format": "zip", "artifact_type": "archive"}
    response = await client.post(
        f"/api/v4/jobs/{job['id']}/artifacts", files=files, data=data, headers={"JOB-TOKEN": job["token"]}
    )
    assert response.status_code == 201, response.text


def before_jobs(gl: gitlab.Gitlab) -> tuple[Any, Any, Any]:
    """All that needs no runner; gives back the group, its project and a pipeline."""
    user = people.people_of(gl)
    group = people.groups_of(gl, user)
    project = people.project_of(gl, group, user)
    settings.settings_of(project)
    settings.hooks_of(project)
    settings.hooks_of(group)
    settings.installation_of(gl)
    repository.repository_of(project)
    repository.changes_of(project)
    settings.triggers_of(project)
    settings.neighbours_of(gl, group, project)
    planning.planning_of(group, project)
    planning.badges_of(project, group)
    sharing.sharing_of(gl, group)
    sharing.administration_of(gl, user)
    pipelines.schedules_of(project)
    return group, project, pipelines.pipelines_of(project)


def after_jobs(gl: gitlab.Gitlab, group: Any, project: Any, pipeline: Any) -> None:
    """All that reads and changes what jobs have made."""
    deploying.environments_of(project)
    deploying.reported_deployments_of(project)
    pipelines.jobs_of(project, pipeline)
    deploying.releases_of(project)
    merge_requests.merge_requests_of(gl, group, project)
    runners.runners_of(gl, group, project)
    pipeline.delete()
    pipelines.end_all_of(project)
    project.archive()
    project.unarchive()
    project.delete()


async def test_a_script_for_gitlab_works_here(place: Place) -> None:
    group, project, pipeline = await asyncio.to_thread(before_jobs, place.gl)
    await run_jobs(place, pipeline)
    await asyncio.to_thread(after_jobs, place.gl, group, project, pipeline)
    listed = "\n".join(sorted(place.calls.seen))
    assert len(place.calls.seen) >= LEAST, listed


def command(place: Place, *words: str) -> Any:
    """Run python-gitlab's own command line; what it prints as JSON."""
    known = ["--server-url", place.server.url, "--private-token", place.server.credentials["token"], "-o", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "gitlab", *known, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout) if done.stdout.strip() else None


def ten_commands(place: Place) -> Iterator[str]:
    """The commands that people use most."""
    project = command(place, "project", "create", "--name", "tool")
    key = str(project["id"])
    yield "project create"
    assert key in {str(item["id"]) for item in command(place, "project", "list", "--get-all")}
    yield "project list"
    assert command(place, "project", "get", "--id", key)["path"] == "tool"
    yield "project get"
    file = (
        "--file-path",
        ".gitlab-ci.yml",
        "--branch",
        "main",
        "--content",
        repository.CONFIG,
        "--commit-message",
        "First",
    )
    command(place, "project-file", "create", "--project-id", key, *file)
    yield "project-file create"
    assert [item["name"] for item in command(place, "project-branch", "list", "--project-id", key)] == ["main"]
    yield "project-branch list"
    command(place, "project-variable", "create", "--project-id", key, "--key", "A", "--value", "1")
    yield "project-variable create"
    pipeline = command(place, "project-pipeline", "create", "--project-id", key, "--ref", "main")
    yield "project-pipeline create"
    listed = command(place, "project-pipeline", "list", "--project-id", key)
    assert pipeline["id"] in {item["id"] for item in listed}
    yield "project-pipeline list"
    found = command(place, "project-job", "list", "--project-id", key, "--get-all")
    assert {item["name"] for item in found} >= {"build", "check"}
    yield "project-job list"
    command(place, "project-pipeline", "cancel", "--project-id", key, "--id", str(pipeline["id"]))
    yield "project-pipeline cancel"
    assert command(place, "current-user", "get")["username"] == ADMINISTRATOR
    yield "current-user get"


async def test_its_command_line_works_here(place: Place) -> None:
    done = await asyncio.to_thread(lambda: list(ten_commands(place)))
    assert len(done) >= 10
