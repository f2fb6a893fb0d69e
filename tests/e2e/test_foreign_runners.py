"""Runners that nobody here wrote, and our own, finish a pipeline of twenty jobs on a real server.

A proxy between runner and server writes down what each of them used: `docs/runner-compatibility.md` shows it.
"""

import asyncio
import io
import time
import zipfile
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rigs.ports import LOCAL, free_port
from tests.foreign.compatibility import recordings, unknown, unused
from tests.foreign.own_runner import OwnRunner
from tests.foreign.pipeline import ALL, FILES, STATUSES, TEXT
from tests.foreign.python_runner import PythonRunner
from tests.foreign.recording import Recording, recorded
from tests.foreign.runner import ForeignRunner, Site
from tests.foreign.rust_runner import RustRunner
from tests.project import Document, Project
from tests.routed import server_behind_router
from tests.server import SHORT_TIMES, Server
from tests.stamping import without_stamps
from tests.temporal import temporal_server
from tests.waiting import eventually

pytestmark = pytest.mark.slow

PATIENCE = 240.0
STOPS_WITHIN = 25.0
"""Seconds from the wish to cancel a job until its script must have ended; by itself it would take 45."""


@dataclass
class Stand:
    """A project on a server, a folder in which jobs leave marks, and what the runner and the server say."""

    server: Server
    project: Project
    marks: Path
    recording: Recording

    def site(self) -> Site:
        """The server as a runner is told of it."""
        known = self.server.credentials
        return Site(known["url"], self.server.url, known["registration_token"], self.pending)

    async def pending(self) -> None:
        """Return as soon as a job waits for a runner."""

        async def look() -> list[Document]:
            response = await self.project.client.get(f"/api/v4/projects/{self.project.id}/jobs?scope[]=pending")
            found: list[Document] = response.json()
            return found

        await eventually(look, "a job is pending", PATIENCE)

    async def start(self) -> Document:
        """A pipeline that somebody starts by hand."""
        variables = [{"key": "MARKS", "value": str(self.marks)}, {"key": "ASKED", "value": "by hand"}]
        body = {"ref": "main", "variables": variables}
        response = await self.project.client.post(f"/api/v4/projects/{self.project.id}/pipeline", json=body)
        assert response.status_code == 201, response.text
        pipeline: Document = response.json()
        return pipeline

    async def act(self, job: Document, operation: str) -> Document:
        """Play or cancel a job."""
        response = await self.project.client.post(f"/api/v4/projects/{self.project.id}/jobs/{job['id']}/{operation}")
        assert response.is_success, response.text
        changed: Document = response.json()
        return changed


@asynccontextmanager
async def stand(folder: Path, extra: str, *, stamps: bool = True) -> AsyncIterator[Stand]:
    """One of two pods behind a router and a recording proxy, which stamps lines, and the project on it."""
    port = free_port()
    marks = folder / "marks"
    marks.mkdir()
    async with (
        temporal_server(folder) as temporal,
        server_behind_router(
            folder / "server", temporal, **SHORT_TIMES, external_url=f"http://{LOCAL}:{port}"
        ) as server,
        recorded(server.url, port, Recording(), stamps=stamps) as recording,
        server.client() as client,
    ):
        files = {".gitlab-ci.yml": TEXT.replace("{extra}", extra), "source.txt": "the source\n"}
        project = await Project.create(client, "foreign", folder / "tree", files)
        await project.push("ci.skip")
        yield Stand(server, project, marks, recording)


@pytest.mark.parametrize(
    ("runner", "stamps"),
    [
        (PythonRunner(), True),
        (OwnRunner(), True),
        pytest.param(PythonRunner(), False, marks=pytest.mark.nightly),
        pytest.param(OwnRunner(), False, marks=pytest.mark.nightly),
        pytest.param(RustRunner(), True, marks=pytest.mark.nightly),  # it takes minutes to compile
    ],
    ids=lambda value: value.name if isinstance(value, ForeignRunner) else "stamped" if value else "plain",
)
async def test_a_runner_finishes_a_pipeline_of_twenty_jobs(runner: ForeignRunner, stamps: bool, tmp_path: Path) -> None:
    (tmp_path / "runner").mkdir()
    async with stand(tmp_path, runner.extra, stamps=stamps) as place:
        pipeline = await place.start()
        async with runner.serving(place.site(), tmp_path / "runner"):
            _, asked = await asyncio.gather(play(place, pipeline), cancel(place, pipeline))
            ended = await place.project.ended(pipeline["id"], PATIENCE)
            await eventually(lambda: silent(place), "the canceled script has ended", PATIENCE)
            await check_runner(runner, place)
            await eventually(lambda: asked_again(runner, place), "the runner sent all that is recorded")
            jobs = await place.project.jobs(pipeline["id"])
        await check_statuses(place, jobs)
        check_failures(runner, jobs)
        assert ended["status"] == ("success" if runner.abilities.exit_codes else "failed")
        check_cancel(runner, place, jobs["slow"], asked)
        for job in jobs.values():
            await check_log(runner, place, job)
        await check_words(runner, place, jobs)
        await check_artifacts(runner, place, jobs)
        await check_attempts(place, pipeline)
    assert place.recording.faults == []
    assert unused(runner.name, place.recording.facts()) == set()
    assert unknown(place.recording.facts()) == set()


async def play(place: Stand, pipeline: Document) -> None:
    """Somebody plays the manual job as soon as it waits for that."""
    job = await place.project.job_with(pipeline["id"], "approve", "manual", within=PATIENCE)
    await place.act(job, "play")


async def cancel(place: Stand, pipeline: Document) -> float:
    """Somebody cancels the slow job when some of its log is there; when that was."""
    job = await place.project.job_with(pipeline["id"], "slow", "running", within=PATIENCE)

    async def runs() -> bool:
        return "second 2" in without_stamps(await place.project.log(job["id"]))

    await eventually(runs, "the slow job writes its log", PATIENCE)
    asked = time.time()
    await place.act(job, "cancel")
    return asked


async def silent(place: Stand) -> bool:
    """Whether the canceled script does nothing any more."""
    return time.time() - last_mark(place) > 3


async def asked_again(runner: ForeignRunner, place: Stand) -> bool:
    """Whether the runner, with nothing to do now, has sent every field that its recording has."""
    return place.recording.sent >= set(recordings()[runner.name]["sent"])


def last_mark(place: Stand) -> int:
    """When the canceled script was last alive."""
    return int((place.marks / "seconds").read_text().split()[-1])


async def check_runner(runner: ForeignRunner, place: Stand) -> None:
    """The runner and its process are known as what they said of themselves."""
    (known,) = (await place.project.client.get("/api/v4/runners/all")).json()
    assert (known["description"], known["online"]) == (runner.name, True)
    (process,) = (await place.project.client.get(f"/api/v4/runners/{known['id']}/managers")).json()
    assert process["system_id"].startswith(runner.abilities.system_id)
    assert process["version"]
    assert process["platform"] == "linux"
    assert process["contacted_at"]


async def check_statuses(place: Stand, jobs: dict[str, Document]) -> None:
    """Each job became what it had to; one that did not shows its log."""
    other = [
        (name, job["status"], job.get("failure_reason"), await place.project.log(job["id"]))
        for name, job in jobs.items()
        if job["status"] != STATUSES.get(name)
    ]
    assert other == []
    assert len(jobs) == ALL


def check_failures(runner: ForeignRunner, jobs: dict[str, Document]) -> None:
    """What failed says why, in the words of the protocol."""
    reasons = {name: job.get("failure_reason") for name, job in jobs.items() if job["status"] == "failed"}
    last = "script_failure" if runner.abilities.exit_codes else "runner_unsupported"
    assert reasons == {"broken": "script_failure", "salvage": "script_failure", "by exit code": last}
    assert jobs["broken"]["exit_code"] == (3 if runner.abilities.exit_codes else None)
    assert jobs["by exit code"]["allow_failure"] is runner.abilities.exit_codes
    taken = {name for name, job in jobs.items() if job["runner"] and job["runner"]["description"] == runner.name}
    assert taken == STATUSES.keys() - {"cleanup"}


def check_cancel(runner: ForeignRunner, place: Stand, job: Document, asked: float) -> None:
    """The job was over soon, and its script with it if the runner can do that; so with what cleans up."""
    finished = datetime.fromisoformat(job["finished_at"]).timestamp()
    assert asked - 1 < finished < asked + STOPS_WITHIN
    assert (last_mark(place) < asked + STOPS_WITHIN) is runner.abilities.stops
    assert (place.marks / "cleaned").exists() is runner.abilities.after_cancel


async def check_log(runner: ForeignRunner, place: Stand, job: Document) -> None:
    """The log is, byte for byte in its length, what the server took of the runner, and counts as complete.

    Not so that of a job which was canceled at once: its runner had no time to say what its log is.
    """
    sent = bytes(place.recording.logs.get(job["id"], b""))
    path = f"/api/v4/projects/{place.project.id}/jobs/{job['id']}/trace"
    read = (await place.project.client.get(path)).content
    at_once = job["status"] == "canceled" and not runner.abilities.after_cancel
    assert job["log_incomplete"] is at_once
    if job["name"] in {"secret", "by exit code", "slow"}:
        return  # the server hides the token in it, or adds words of its own, or was still being told
    assert (len(read), zlib.crc32(read)) == (len(sent), zlib.crc32(sent)), job["name"]


async def check_words(runner: ForeignRunner, place: Stand, jobs: dict[str, Document]) -> None:
    """What scripts printed is there, and nothing that must not be."""
    long = without_stamps(await place.project.log(jobs["unit"]["id"]))
    assert [number for number in range(1, 3001) if f"line {number} of a log" not in long] == []
    assert "about to fail" in without_stamps(await place.project.log(jobs["broken"]["id"]))
    secret = without_stamps(await place.project.log(jobs["secret"]["id"]))
    assert "the token is" in secret
    if runner.abilities.masks:
        assert b"[MASKED]" in place.recording.logs[jobs["secret"]["id"]]
    assert "glcbt-" not in secret.replace("glcbt-[MASKED]", "")
    if not runner.abilities.exit_codes:
        assert "lacks return_exit_code" in await place.project.log(jobs["by exit code"]["id"])


async def check_artifacts(runner: ForeignRunner, place: Stand, jobs: dict[str, Document]) -> None:
    """Archives hold what the scripts wrote, to the byte."""
    for name, files in FILES.items():
        path = f"/api/v4/projects/{place.project.id}/jobs/{jobs[name]['id']}/artifacts"
        response = await place.project.client.get(path)
        assert response.status_code == 200, name
        with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
            found = {item: archive.read(item).decode() for item in archive.namelist() if not item.endswith("/")}
        assert found == files, name
    assert jobs["compile"]["artifacts_expire_at"]  # whether or not the runner hands on what the job wished
    kinds = {item["file_type"] for item in jobs["asking for more"]["artifacts"]} - {"trace"}
    assert ("junit" in kinds) is ("junit" in runner.extra)


async def check_attempts(place: Stand, pipeline: Document) -> None:
    """The fragile job needed two attempts."""
    every: list[dict[str, Any]] = await place.project.get(
        f"pipelines/{pipeline['id']}/jobs?per_page=100&include_retried=true"
    )
    attempts = sorted((job["attempt"], job["status"]) for job in every if job["name"] == "fragile")
    assert attempts == [(1, "failed"), (2, "success")]
