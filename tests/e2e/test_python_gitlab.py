"""A script written for GitLab works by changing the address: python-gitlab, unpatched, against the real server.

The calls are counted as they leave: by method and address, with what differs between objects left out.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import gitlab
import pytest
import requests
from gitlab.const import AccessLevel

from tests.e2e.player import Player
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import temporal_server
from tests.waiting import eventually

pytestmark = pytest.mark.slow

LEAST = 60
"""So many different calls at least."""
CONFIG = """
stages: [build, test]
build: {stage: build, script: make}
check: {stage: test, script: make check}
release: {stage: test, script: make release, when: manual}
"""


@dataclass
class Calls:
    """The different calls that a session has made."""

    seen: set[str] = field(default_factory=set)

    def note(self, response: requests.Response, *_: Any, **__: Any) -> None:
        """Remember one; one that was refused does not count."""
        path = re.sub(r"^https?://[^/]+/api/v4", "", response.request.url or "").partition("?")[0]
        kind = re.sub(r"(?<=/)(\d+|[0-9a-f]{40}|calls%2F\w+)(?=/|$)", "*", path)
        if response.ok:
            self.seen.add(f"{response.request.method} {kind}")


@dataclass
class Place:
    """The running server and a client of it."""

    server: Server
    gl: gitlab.Gitlab
    calls: Calls


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """A server with its Temporal, and python-gitlab with the administrator's token."""
    async with temporal_server(tmp_path) as temporal, running_server(tmp_path, temporal, **SHORT_TIMES) as server:
        calls, session = Calls(), requests.Session()
        session.hooks["response"].append(calls.note)
        gl = gitlab.Gitlab(server.url, private_token=server.credentials["token"], session=session)
        yield Place(server, gl, calls)


def people_and_groups(gl: gitlab.Gitlab) -> Any:
    """Groups, projects, members, tokens, variables, protected refs; gives back the project."""
    gl.auth()
    assert gl.user is not None
    assert gl.user.username == "root"
    assert gl.version()[0].count(".") == 2
    user = gl.users.create({"username": "ada", "name": "Ada", "email": "ada@example.com", "password": "correct-horse"})
    assert gl.users.get(user.id).username == "ada"
    assert [item.username for item in gl.users.list(username="ada")] == ["ada"]
    token = user.personal_access_tokens.create({"name": "t", "scopes": ["read_api"]})
    assert gl.personal_access_tokens.get(token.id).scopes == ["read_api"]
    assert len(gl.personal_access_tokens.list(user_id=user.id)) == 1
    gl.personal_access_tokens.delete(token.id)

    group = gl.groups.create({"name": "Calls", "path": "calls"})
    team = gl.groups.create({"name": "Team", "path": "team", "parent_id": group.id})
    assert [item.full_path for item in group.subgroups.list()] == ["calls/team"]
    assert [item.full_path for item in group.descendant_groups.list()] == ["calls/team"]
    team.description = "those who call"
    team.save()
    assert gl.groups.get("calls/team").description == "those who call"
    assert {"calls", "calls/team"} <= {item.full_path for item in gl.groups.list(get_all=True)}
    member = group.members.create({"user_id": user.id, "access_level": AccessLevel.DEVELOPER})
    member.access_level = AccessLevel.MAINTAINER
    member.save()
    assert group.members.get(user.id).access_level == AccessLevel.MAINTAINER
    assert {item.username for item in group.members_all.list()} == {"root", "ada"}
    group.variables.create({"key": "SHARED", "value": "group"})
    assert group.variables.get("SHARED").value == "group"
    bot = group.access_tokens.create({"name": "g", "scopes": ["read_api"], "access_level": AccessLevel.REPORTER})
    assert [item.id for item in group.access_tokens.list()] == [bot.id]
    assert {item.kind for item in gl.namespaces.list(get_all=True)} <= {"group", "user"}

    project = gl.projects.create({"name": "app", "namespace_id": group.id, "default_branch": "main"})
    assert gl.projects.get("calls/app").id == project.id
    assert project.id in {item.id for item in gl.projects.list(owned=True, iterator=True)}
    assert [item.id for item in group.projects.list()] == [project.id]
    project.description = "an app"
    project.save()
    project.members.create({"user_id": user.id, "access_level": AccessLevel.OWNER})
    assert [item.username for item in project.members.list()] == ["root", "ada"]
    assert project.members_all.get(user.id).access_level == AccessLevel.OWNER
    project.members.delete(user.id)
    return project


def settings_of(project: Any) -> None:
    """Variables, tokens, protected refs, hooks, audit events."""
    variable = project.variables.create({"key": "SECRET", "value": "correct-horse", "masked": True, "protected": True})
    variable.value = "battery-staple"
    variable.save()
    assert project.variables.get("SECRET").value == "battery-staple"
    project.variables.create({"key": "SECRET", "value": "for-live-only", "environment_scope": "live"})
    scoped = project.variables.get("SECRET", filter={"environment_scope": "live"})
    assert scoped.value == "for-live-only"
    assert len(project.variables.list()) == 2
    project.variables.delete("SECRET", filter={"environment_scope": "live"})

    ends = (date.today() + timedelta(days=30)).isoformat()  # noqa: DTZ011  # a day, not a moment
    bot = project.access_tokens.create({"name": "b", "scopes": ["api"], "expires_at": ends})
    assert project.access_tokens.get(bot.id).expires_at == ends
    before = bot.token
    bot.rotate()
    assert bot.token != before
    for token in project.access_tokens.list(iterator=True):
        token.delete()
    protected = project.protectedbranches.create({"name": "release/*", "push_access_level": 0})
    assert protected.push_access_levels[0]["access_level"] == 0
    assert {item.name for item in project.protectedbranches.list()} == {"main", "release/*"}
    project.protectedbranches.delete("release/*")
    project.protectedtags.create({"name": "v*"})
    assert [item.name for item in project.protectedtags.list()] == ["v*"]

    hook = project.hooks.create({"url": "https://hooks.example.com/in", "pipeline_events": True})
    hook.push_events = False
    hook.save()
    assert project.hooks.get(hook.id).pipeline_events
    assert len(project.hooks.list()) == 1
    hook.delete()
    assert "variable_added" in {item.event_name for item in project.audit_events.list(get_all=True)}


def repository_of(project: Any) -> str:
    """Commits, files, branches, tags, comparisons; gives back the newest commit of `main`."""
    made = project.commits.create(
        {
            "branch": "main",
            "commit_message": "First",
            "actions": [
                {"action": "create", "file_path": ".gitlab-ci.yml", "content": CONFIG},
                {"action": "create", "file_path": "src/app.py", "content": "print(1)\n"},
            ],
        }
    )
    assert project.commits.get(made.id).title == "First"
    file = project.files.create(
        {"file_path": "README.md", "branch": "main", "content": "# App\n", "commit_message": "Say what it is [ci skip]"}
    )
    file = project.files.get("README.md", ref="main")
    assert file.decode() == b"# App\n"
    file.content = "# The app\n"
    file.save(branch="main", commit_message="Say more [skip ci]")
    assert project.files.raw("README.md", ref="main") == b"# The app\n"
    assert {item["path"] for item in project.repository_tree(recursive=True, get_all=True)} >= {"src/app.py"}
    blob = next(item for item in project.repository_tree(path="src") if item["name"] == "app.py")
    assert project.repository_raw_blob(blob["id"]) == b"print(1)\n"
    branch = project.branches.create({"branch": "fix", "ref": "main"})
    assert not branch.protected
    assert {item.name for item in project.branches.list()} == {"main", "fix"}
    project.tags.create({"tag_name": "v1", "ref": "main", "message": "One"})
    assert project.tags.get("v1").message == "One"
    head = project.branches.get("main").commit["id"]
    compared = project.repository_compare(made.id, head)
    assert [item["new_path"] for item in compared["diffs"]] == ["README.md"]
    commit = project.commits.get(head)
    assert [item["new_path"] for item in commit.diff()] == ["README.md"]
    assert {"name": "fix", "type": "branch"} in commit.refs()
    assert project.repository_merge_base(["main", "fix"])["id"] == head
    assert project.repository_archive(format="tar.gz")[:2] == b"\x1f\x8b"
    commit.statuses.create({"state": "success", "name": "outside", "target_url": "https://ci.example.com/1"})
    assert "outside" in {item.name for item in commit.statuses.list(get_all=True)}
    project.branches.delete("fix")
    return str(head)


def pipelines_of(project: Any) -> Any:
    """Starts a pipeline; gives it back."""
    assert project.ci_lint.get().valid
    assert project.ci_lint.create({"content": CONFIG}).valid
    pipeline = project.pipelines.create({"ref": "main", "variables": [{"key": "LEVEL", "value": "3"}]})
    assert [(item.key, item.value) for item in pipeline.variables.list()] == [("LEVEL", "3")]
    assert project.pipelines.get(pipeline.id).source == "api"
    assert pipeline.id in {item.id for item in project.pipelines.list(ref="main", iterator=True)}
    assert project.pipelines.latest(ref="main").id == pipeline.id
    assert {item.name for item in pipeline.jobs.list()} == {"build", "check", "release"}
    assert pipeline.bridges.list() == []
    schedule = project.pipelineschedules.create(
        {"ref": "refs/heads/main", "description": "nightly", "cron": "0 3 * * *", "cron_timezone": "Europe/Berlin"}
    )
    schedule.variables.create({"key": "NIGHTLY", "value": "1"})
    schedule.description = "every night"
    schedule.save()
    assert project.pipelineschedules.get(schedule.id).attributes["variables"][0]["key"] == "NIGHTLY"
    assert len(project.pipelineschedules.list()) == 1
    schedule.take_ownership()
    schedule.delete()
    return pipeline


def jobs_of(project: Any, pipeline: Any) -> None:
    """Reads what has run, plays, retries, cancels."""
    jobs = {item.name: project.jobs.get(item.id) for item in pipeline.jobs.list(get_all=True)}
    assert (jobs["build"].status, jobs["release"].status) == ("success", "manual")
    assert b"played build" in jobs["build"].trace()
    assert {item.id for item in project.jobs.list(scope=["success"], get_all=True)} >= {jobs["build"].id}
    assert pipeline.test_report.get().total_count == 0
    assert pipeline.test_report_summary.get().total["count"] == 0
    jobs["release"].play()
    jobs["check"].retry()
    pipeline.cancel()
    deadline = time.monotonic() + 30
    while project.pipelines.get(pipeline.id).status not in {"canceled", "success"}:
        assert time.monotonic() < deadline
    project.environments.create({"name": "live", "external_url": "https://live.example.com"})
    environment = project.environments.list()[0]
    environment.external_url = "https://new.example.com"
    environment.save()
    environment.stop()
    environment.delete()
    assert project.deployments.list() == []
    release = project.releases.create({"tag_name": "v1", "description": "The first"})
    assert project.releases.get("v1").name == release.name
    assert len(project.releases.list()) == 1
    project.releases.delete("v1")
    assert project.resource_groups.list() == []


def runners_of(gl: gitlab.Gitlab, project: Any) -> None:
    """Adds, changes and removes a runner."""
    made = gl.user.runners.create({"runner_type": "project_type", "project_id": project.id, "tag_list": ["gpu"]})
    runner = gl.runners.get(made.id)
    runner.description = "fast"
    runner.save()
    assert made.id in {item.id for item in gl.runners.list(iterator=True)}
    assert made.id in {item.id for item in gl.runners_all.list(iterator=True)}
    assert made.id in {item.id for item in project.runners.list(iterator=True)}
    assert runner.jobs.list() == []
    gl.runners.delete(made.id)


async def test_a_script_for_gitlab_works_here(place: Place) -> None:
    gl = place.gl
    project = await asyncio.to_thread(people_and_groups, gl)
    await asyncio.to_thread(settings_of, project)
    await asyncio.to_thread(repository_of, project)
    pipeline = await asyncio.to_thread(pipelines_of, project)
    async with place.server.client() as client:
        player = Player(client, place.server.credentials["registration_token"])
        await player.register()

        async def all_have_run() -> bool:
            if (job := await player.ask()) is not None:
                assert await player.finish(job) == 200
                return False
            listed = await asyncio.to_thread(pipeline.jobs.list, get_all=True)
            return {item.status for item in listed} == {"success", "manual"}

        await eventually(all_have_run, "every job but the manual one has run", 60)
    await asyncio.to_thread(jobs_of, project, pipeline)
    await asyncio.to_thread(runners_of, gl, project)
    await asyncio.to_thread(project.archive)
    await asyncio.to_thread(project.unarchive)
    await asyncio.to_thread(project.delete)
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
    file = ("--file-path", ".gitlab-ci.yml", "--branch", "main", "--content", CONFIG, "--commit-message", "First")
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
    assert command(place, "current-user", "get")["username"] == "root"
    yield "current-user get"


async def test_its_command_line_works_here(place: Place) -> None:
    done = await asyncio.to_thread(lambda: list(ten_commands(place)))
    assert len(done) >= 10
