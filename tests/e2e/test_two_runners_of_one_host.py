"""Two registered runners on one host, with one folder for builds: no two of their jobs ever share a folder.

A runner keeps its builds in `<builds_dir>/<short token>/<concurrent id>/<project>`, whoever made it; two of them know
nothing of each other, so that only their short tokens keep them apart. Worth its seconds: it is the whole way from the
token that a server makes to the files of a job.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from fleet.config import RunnerEntry, add_runner
from tests.auth.short_token import RULES
from tests.program import Program, running
from tests.project import Project
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import temporal_server
from tests.waiting import HANGS

pytestmark = pytest.mark.slow

PATIENCE = 120.0
JOBS = 4
CONFIG = f"""
share:
  parallel: {JOBS}
  script:
    - pwd > "$MARKS/$CI_NODE_INDEX"
    - touch "written by $CI_NODE_INDEX"
    - until [ "$(ls "$MARKS" | wc -l)" -eq $CI_NODE_TOTAL ]; do sleep 0.1; done
    - test "$(ls -d written*)" = "written by $CI_NODE_INDEX"
"""
"""Each job waits until all of them run and have written: then its folder must hold its own file only."""


async def registered(server: Server, number: int) -> str:
    """A runner's token, by the registration token of the installation."""
    body = {"token": server.credentials["registration_token"], "description": f"runner {number}"}
    async with httpx.AsyncClient(trust_env=False, timeout=HANGS) as client:
        response = await client.post(f"{server.url}/api/v4/runners", json=body)
    assert response.status_code == httpx.codes.CREATED, response.text
    return str(response.json()["token"])


async def created(server: Server, number: int) -> str:
    """A runner's token, as its owner makes it."""
    body = {"runner_type": "instance_type", "description": f"runner {number}", "run_untagged": True}
    async with server.client() as client:
        response = await client.post("/api/v4/user/runners", json=body)
    assert response.status_code == httpx.codes.CREATED, response.text
    return str(response.json()["token"])


def runner(server: Server, token: str, folder: Path, builds: Path) -> Program:
    """Our runner, two jobs at a time, with its builds where the other one has them too."""
    folder.mkdir()
    add_runner(folder / "config.toml", RunnerEntry("of a host", server.url, token, builds_dir=builds))
    text = (folder / "config.toml").read_text().replace("concurrent = 1", f"concurrent = {JOBS // 2}")
    (folder / "config.toml").write_text(text.replace("check_interval = 0", "check_interval = 1"))
    command = [sys.executable, "-m", "cli.main", "runner", "run", "--config", str(folder / "config.toml")]
    return Program(command, folder / "runner.log")


@pytest.mark.parametrize(
    "made", [created, pytest.param(registered, marks=pytest.mark.nightly)], ids=lambda made: made.__name__
)
async def test_parallel_jobs_of_one_project_share_no_folder(
    made: Callable[[Server, int], Awaitable[str]], tmp_path: Path
) -> None:
    builds, marks = tmp_path / "builds", tmp_path / "marks"
    marks.mkdir()
    async with (
        temporal_server(tmp_path) as temporal,
        running_server(tmp_path / "server", temporal, **SHORT_TIMES) as server,
        server.client() as client,
    ):
        tokens = [await made(server, number) for number in range(2)]
        for name, rule in RULES.items():
            assert rule(tokens[0]) != rule(tokens[1]), f"GitLab Runner, {name}"
        project = await Project.create(client, "shared", tmp_path / "tree", {".gitlab-ci.yml": CONFIG})
        await project.push("ci.skip")
        async with AsyncExitStack() as stack:
            for number, token in enumerate(tokens):
                program = runner(server, token, tmp_path / f"runner {number}", builds)
                await stack.enter_async_context(running(program))
            variables = [{"key": "MARKS", "value": str(marks)}]
            response = await client.post(
                f"/api/v4/projects/{project.id}/pipeline", json={"ref": "main", "variables": variables}
            )
            ended = await project.ended(response.json()["id"], PATIENCE)
            jobs = await project.jobs(ended["id"])
        logs = await asyncio.gather(*(project.log(job["id"]) for job in jobs.values()))
    assert ended["status"] == "success", "\n".join(logs)
    assert len({job["runner"]["id"] for job in jobs.values()}) == 2, "one runner took all jobs"
    folders = {path.read_text().strip() for path in marks.iterdir()}
    assert len(folders) == JOBS
    assert all(Path(folder).is_relative_to(builds) for folder in folders)
    assert len(list(builds.iterdir())) == 2
