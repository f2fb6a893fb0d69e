"""The API is killed by the last line of a script and by an upload, and is away for a while: nothing is lost.

Every runner that is here has two jobs in one outage: one whose last words are still to be said when the API dies, and
one that still has to hand in an archive. The runner that tries again as GitLab Runner 17.8 was measured to has a third
one, whose upload the API dies in the middle of. `PERDURE_OUTAGES` names the outages in seconds (`20,75,150`), the test
takes each with a front that lives and with one that is dead all the time; without, it is the shortest that an upload of
17.8 does not survive.
"""

import asyncio
import io
import os
import signal
import time
import zipfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.amounts import amount
from tests.faults.measured_runner import MeasuredRunner
from tests.foreign.own_runner import OwnRunner
from tests.foreign.python_runner import PythonRunner
from tests.foreign.runner import ForeignRunner, Site
from tests.foreign.rust_runner import RustRunner
from tests.pods.supervised_front import SupervisedFront, supervised_front
from tests.project import Document, Project
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import new_namespace, temporal_server
from tests.waiting import eventually

pytestmark = pytest.mark.slow

OUTAGES = [float(word) for word in os.environ.get("PERDURE_OUTAGES", "20").split(",")]
RUNNERS: dict[str, ForeignRunner] = {"python": PythonRunner(), "own": OwnRunner(), **amount({}, {"rust": RustRunner()})}
MAX_CONCURRENT = {"python": 2, "rust": 1, "own": 2}
"""So many processes take two jobs at a time."""
MEASURED = "measured"
BEFORE, AFTER = 120.0, 90.0
"""Seconds until every job waits for the kill, and from the return of the API to the end of every job."""

JOB = """
{name} result:
  tags: [{name}]
  script:
    - echo "all but the last line"
    - touch "$MARKS/{name}-result"
    - until test -e "$MARKS/killed"; do sleep 0.1; done
{name} upload:
  tags: [{name}]
  script:
    - echo "what it made" > made.txt
    - touch "$MARKS/{name}-upload"
    - until test -e "$MARKS/killed"; do sleep 0.1; done
  artifacts: {{paths: [made.txt]}}
"""
CONFIG = """
variables: {{CI_CONFIG_PATH: none, GITLAB_PYTHON_RUNNER_COMPUTED: "1", MARKS: "{marks}"}}
{jobs}
{measured}
"""
MEASURED_JOBS = "".join(
    f"measured {what}: {{tags: [measured], script: ['true'], artifacts: {{paths: [made.txt]}}}}\n"
    for what in ("result", "upload", "cut")
)


class Stand:
    """A server behind a supervised front, a project, and the marks that its jobs leave."""

    def __init__(self, server: Server, front: SupervisedFront, project: Project, marks: Path) -> None:
        self.server, self.front, self.project, self.marks = server, front, project, marks
        self.killed = asyncio.Event()
        self.runner_token = ""

    def site(self, tag: str) -> Site:
        """The front as a runner with this tag is told of it."""

        async def pending() -> None:
            async def look() -> bool:
                jobs = await self.project.get("jobs?scope[]=pending")
                return any(tag in job["tag_list"] for job in jobs)

            await eventually(look, f"a job with the tag {tag} is pending", 600)

        return Site(self.front.url, self.server.url, self.server.credentials["registration_token"], pending, tag)

    async def marked(self) -> None:
        """Return when every job of every runner waits for the kill."""

        async def look() -> bool:
            names = {f"{name}-{what}" for name in RUNNERS for what in ("result", "upload")}
            return names <= {path.name for path in self.marks.iterdir()}

        await eventually(look, "every job waits for the kill", BEFORE)

    async def outage(self, seconds: float, *, dead: bool) -> None:
        """Kill the API (and its front), and let it be away for so long."""
        if dead:
            # A supervisor that stands still starts no front; the socket is its own all the time.
            self.front.signal_supervisor(signal.SIGSTOP)
            await self.front.kill()
        await self.server.kill()
        self.killed.set()
        (self.marks / "killed").touch()
        await asyncio.sleep(seconds)  # the outage itself
        if dead:
            self.front.signal_supervisor(signal.SIGCONT)
        await self.server.start()


class Measured:
    """The jobs of the runner that tries again as 17.8 does."""

    def __init__(self, stand: Stand) -> None:
        self.stand = stand
        self.runners: dict[str, MeasuredRunner] = {}
        self.ready: set[str] = set()

    async def play(self) -> None:
        """One job from its hand-out to its end; Dropped if the runner gives up."""
        async with aiohttp.ClientSession(self.stand.front.url) as session:
            job = await self._job(session)
            what = job["job_info"]["name"].removeprefix("measured ")
            runner = self.runners[what] = MeasuredRunner(session)
            await runner.say(job, "running")
            if what != "cut":
                self.ready.add(what)
                await self.stand.killed.wait()
            await runner.log(job, b"the last line\n")
            if what != "result":
                await runner.upload(job, lambda: self._archive(what))
            await runner.say(job, "success")

    async def _archive(self, what: str) -> AsyncIterator[bytes]:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("made.txt", "what it made\n")
        if what == "cut":
            file.seek(0)
            with zipfile.ZipFile(file, "a") as archive:
                archive.writestr("padding", os.urandom(300_000))
        content = file.getvalue()
        yield content[: len(content) // 2]
        if what == "cut":
            self.ready.add(what)
            await self.stand.killed.wait()
        yield content[len(content) // 2 :]

    async def _job(self, session: aiohttp.ClientSession) -> dict[str, Any]:
        """The next job with the tag."""
        body = {"token": self.stand.runner_token, "system_id": "s_measured"}

        async def ask() -> dict[str, Any] | None:
            async with session.post("/api/v4/jobs/request", json=body) as response:
                found: dict[str, Any] | None = await response.json() if response.status == 201 else None
                return found

        return await eventually(ask, "there is a job", BEFORE)

    async def is_ready(self) -> None:
        """Return when every job of it waits for the kill."""

        async def look() -> bool:
            return self.ready == {"result", "upload", "cut"}

        await eventually(look, "the measured runner waits for the kill", BEFORE)


@pytest.fixture
async def stand(tmp_path: Path) -> AsyncIterator[Stand]:
    marks = tmp_path / "marks"
    marks.mkdir()
    async with AsyncExitStack() as opened:
        temporal = await opened.enter_async_context(temporal_server(tmp_path))
        front = await opened.enter_async_context(supervised_front(tmp_path / "front"))
        server = await opened.enter_async_context(
            running_server(
                tmp_path / "server",
                temporal,
                **SHORT_TIMES,
                temporal_namespace=await new_namespace(temporal),
                external_url=front.url,
                api_port=front.api_port,
            )
        )
        client = await opened.enter_async_context(server.client(front.url))
        jobs = "".join(JOB.format(name=name) for name in RUNNERS)
        text = CONFIG.format(marks=marks, jobs=jobs, measured=MEASURED_JOBS)
        project = await Project.create(client, "outage", tmp_path / "tree", {".gitlab-ci.yml": text})
        made = Stand(server, front, project, marks)
        wish = {"token": server.credentials["registration_token"], "tag_list": MEASURED, "run_untagged": False}
        made.runner_token = (await client.post("/api/v4/runners", json=wish)).json()["token"]
        for name, runner in RUNNERS.items():
            for number in range(MAX_CONCURRENT[name]):
                folder = tmp_path / f"{name}-{number}"
                folder.mkdir()
                await opened.enter_async_context(runner.serving(made.site(name), folder))
        yield made


@pytest.mark.parametrize(
    "dead",
    [pytest.param(False, marks=pytest.mark.nightly, id="front alive"), pytest.param(True, id="front dead")],
)
@pytest.mark.parametrize("seconds", OUTAGES)
async def test_no_result_and_no_artifact_is_lost(stand: Stand, seconds: float, dead: bool) -> None:
    measured = Measured(stand)
    pipeline = await stand.project.push()
    playing = [asyncio.create_task(measured.play()) for _ in range(3)]
    await asyncio.gather(stand.marked(), measured.is_ready())
    begun = time.monotonic()
    await stand.outage(seconds, dead=dead)
    away = time.monotonic() - begun
    ended = await stand.project.ended(pipeline["id"], AFTER)
    ends = await asyncio.gather(*playing, return_exceptions=True)
    jobs = await stand.project.jobs(pipeline["id"])
    print(f"\n{seconds:g} s, front {'dead' if dead else 'alive'}: away {away:.1f} s")
    print({name: job["status"] for name, job in jobs.items()}, {k: v.tries for k, v in measured.runners.items()})
    assert [end for end in ends if end is not None] == []
    assert {name: job["status"] for name, job in jobs.items() if job["status"] != "success"} == {}
    assert ended["status"] == "success"
    for name, job in jobs.items():
        if not name.endswith("result"):
            assert await made_by(stand.project, job) == "what it made\n", name
    for name, runner in measured.runners.items():
        most = 1 if name != "cut" else 2
        assert max(count for _, count in runner.tries) <= most, "each call was held, none refused"


async def made_by(project: Project, job: Document) -> str:
    """What the archive of a job holds."""
    response = await project.client.get(f"/api/v4/projects/{project.id}/jobs/{job['id']}/artifacts")
    assert response.status_code == 200, job["name"]
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return archive.read("made.txt").decode()
