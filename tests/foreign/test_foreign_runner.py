"""A runner that nobody here wrote, `gitlab-python-runner`, takes the jobs of a real server from register to verdict.

It is an old client: it registers with a form instead of JSON, asks without `last_update` and `system_id`, names a last
byte that is one too high in each piece of log, and ends jobs without a checksum of the log.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.program import Program, environment
from tests.project import Document, Project
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import temporal_server

pytestmark = pytest.mark.slow

PIPELINE = """
stages: [build, test]

default:
  tags: [foreign]

make greeting:
  stage: build
  script:
    - mkdir -p out
    - echo "hello from $CI_JOB_NAME at $CI_COMMIT_SHORT_SHA" > out/greeting.txt
  artifacts:
    paths: [out/]

read greeting:
  stage: test
  script:
    - cat out/greeting.txt
    - for number in $(seq 1 200); do echo "line $number of a log that needs several pieces"; done

broken:
  stage: test
  needs: []
  allow_failure: true
  script:
    - echo "about to fail"
    - exit 3
"""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server with a Temporal of its own."""
    async with (
        temporal_server(tmp_path) as temporal,
        running_server(tmp_path / "server", temporal, **SHORT_TIMES) as server,
    ):
        yield server


class ForeignRunner:
    """The runner's command line in a folder of its own."""

    def __init__(self, python: Path, folder: Path) -> None:
        folder.mkdir()
        self._python, self._folder = python, folder

    async def __call__(self, *words: str) -> tuple[int, str]:
        """Run one command to its end: exit code and output."""
        program = Program(
            [self._python, "-m", "GitlabPyRunner", *words],
            self._folder / "runner.log",
            cwd=self._folder,
            env=environment(HOME=str(self._folder)),
        )
        try:
            await program.start()
            return await program.wait(within=60), program.output()
        finally:
            await program.kill()

    async def register(self, url: str, registration_token: str) -> None:
        """Become a runner with the tag `foreign`."""
        code, output = await self(
            *("--register", url, "--regtoken", registration_token, "--desc", "of other make", "--tag", "foreign")
        )
        assert code == 0, output

    async def take_one(self, project: Project, job: Document) -> tuple[int, Document, str]:
        """Run the next job, which must be `job`: the runner's exit code, the ended job, its log."""
        await project.job_with(job["pipeline"]["id"], job["name"], "pending")
        code, output = await self("--start", "gitlab-runner.yml", "--once")
        assert f"Job {job['id']} has ended" in output
        return code, await project.get(f"jobs/{job['id']}"), await project.log(job["id"])


async def test_a_runner_of_other_make_runs_a_pipeline(server: Server, foreign_python: Path, tmp_path: Path) -> None:
    runner = ForeignRunner(foreign_python, tmp_path / "runner")
    await runner.register(server.url, server.credentials["registration_token"])
    async with server.client() as client:
        project = await Project.create(client, "greeter", tmp_path / "tree", {".gitlab-ci.yml": PIPELINE})
        pipeline = await project.push()
        jobs = await project.jobs(pipeline["id"])
        assert {job["tag_list"][0] for job in jobs.values()} == {"foreign"}

        code, made, log = await runner.take_one(project, jobs["make greeting"])
        assert (code, made["status"]) == (0, "success")
        assert made["runner"]["description"] == "of other make"
        assert "Uploading artifacts" in log

        code, read, log = await runner.take_one(project, jobs["read greeting"])
        assert (code, read["status"]) == (0, "success")
        assert f"hello from make greeting at {pipeline['sha'][:8]}" in log
        assert [f"line {number} of a log" in log for number in range(1, 201)] == [True] * 200

        code, broken, log = await runner.take_one(project, jobs["broken"])
        assert (code, broken["status"]) == (1, "failed")
        assert "about to fail" in log

        assert (await project.ended(pipeline["id"]))["status"] == "success"

        code, output = await runner("--unregister")
        assert code == 0, output
        assert (await client.get("/api/v4/runners/all")).json() == []
