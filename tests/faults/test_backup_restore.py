"""A server under load is backed up, everything it had is deleted, and the backup brings it back.

Whatever was acknowledged before the backup began is there again, byte for byte, and what was open goes on and ends:
with an empty Temporal, and with one that has gone on after the backup was made.
"""

import asyncio
import hashlib
import io
import shutil
import sys
import zipfile
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from domain.pipelines.status import COMPLETE
from rigs.postgres import DRIVER, fresh_database
from tests.program import Program, environment
from tests.project import Project
from tests.server import Server
from tests.temporal import TemporalServer
from tests.waiting import eventually

CONFIG = """
stages: [build, test, last]
build: {stage: build, script: make, artifacts: {paths: [out]}}
check a: {stage: test, script: x, artifacts: {paths: [out]}}
check b: {stage: test, script: x}
flaky: {stage: test, retry: 1, variables: {FAILS: "1"}, script: x}
end: {stage: last, script: x}
gate: {stage: last, when: manual, script: x}
"""
TIMES: dict[str, Any] = {
    "lease_tick": 0.5,
    "hand_out_window": 4,
    "runner_lost": 8,
    "outage_bonus_min": 2,
    "outage_bonus_max": 4,
    "long_poll": 2,
    "queue_rescan": 1,
    "reconcile_every": 3,
    "outbox_not_found": 3,
}
RUNNERS = 4
SKIPPED = 1_000_000


@dataclass
class Acknowledged:
    """What the server has said yes to."""

    pipelines: list[int] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)
    logs: dict[int, bytes] = field(default_factory=dict)
    archives: dict[int, str] = field(default_factory=dict)

    def copy(self) -> "Acknowledged":
        """As it is at this moment."""
        return Acknowledged(list(self.pipelines), dict(self.ended), dict(self.logs), dict(self.archives))


class Installation:
    """A server, its Temporal and its runners; everything below `folder`."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.database_url = database_url
        self.temporal_folder = folder / "temporal"
        self.temporal_folder.mkdir(parents=True)
        self.temporal = TemporalServer(self.temporal_folder)
        more: dict[str, Any] = {"database_url": database_url} if database_url else {}
        self.server = Server(folder / "server", self.temporal.address, **TIMES, **more)
        self.said = Acknowledged()
        self.tokens: list[str] = []
        self.token = ""

    async def start(self) -> None:
        """Start both; a project, runners and a token of its own at the first start."""
        await self.temporal.start()
        await self.server.start()
        async with self.server.client() as client:
            tree = self.folder / "tree"
            tree.mkdir()
            project = await Project.create(client, "kept", tree, {".gitlab-ci.yml": CONFIG})
            await project.push("ci.skip")
            self.project_id, self.tree = project.id, tree
            for _ in range(RUNNERS):
                wish = {"runner_type": "instance_type", "run_untagged": True}
                response = await client.post("/api/v4/user/runners", json=wish)
                assert response.status_code == httpx.codes.CREATED, response.text
                self.tokens.append(response.json()["token"])
            expires = {"name": "kept", "scopes": ["api"], "expires_at": "2027-10-01"}
            response = await client.post("/api/v4/users/1/personal_access_tokens", json=expires)
            assert response.status_code == httpx.codes.CREATED, response.text
            self.token = response.json()["token"]
            secret = {"key": "SECRET", "value": "sealed-in-the-database"}
            response = await client.post(f"/api/v4/projects/{self.project_id}/variables", json=secret)
            assert response.status_code == httpx.codes.CREATED, response.text

    async def create(self) -> int:
        """One more pipeline."""
        async with self.server.client() as client:
            response = await client.post(f"/api/v4/projects/{self.project_id}/pipeline", json={"ref": "main"})
        assert response.status_code == httpx.codes.CREATED, response.text
        self.said.pipelines.append(response.json()["id"])
        return self.said.pipelines[-1]

    @asynccontextmanager
    async def load(self) -> AsyncIterator[None]:
        """Runners work, pipelines and commits come, until the block ends."""
        tasks = [asyncio.create_task(self._runner(token)) for token in self.tokens]
        tasks.append(asyncio.create_task(self._pushes()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    @asynccontextmanager
    async def runners(self) -> AsyncIterator[None]:
        """Only the runners."""
        tasks = [asyncio.create_task(self._runner(token)) for token in self.tokens]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def _pushes(self) -> None:
        async with self.server.client() as client:
            project, number = Project(client, self.project_id, self.tree), 0
            while True:
                number += 1
                await project.commit({"file": f"{number}\n" * 100})
                self.said.pipelines.append((await project.push())["id"])
                await asyncio.sleep(1)

    async def _runner(self, token: str) -> None:
        async with httpx.AsyncClient(base_url=self.server.url, trust_env=False, timeout=30) as client:
            while True:
                try:
                    response = await client.post("/api/v4/jobs/request", json={"token": token, "system_id": "s_1"})
                    if response.status_code == httpx.codes.CREATED:
                        await self._job(client, response.json())
                except httpx.TransportError:
                    await asyncio.sleep(0.2)

    async def _job(self, client: httpx.AsyncClient, job: dict[str, Any]) -> None:
        number, headers = job["id"], {"JOB-TOKEN": job["token"]}
        variables = {item["key"]: str(item["value"]) for item in job["variables"]}
        log = f"job {number}\n".encode() * 200
        sent = 0
        while sent < len(log):
            part = log[sent : sent + len(log) // 2]
            span = {"Content-Range": f"{sent}-{sent + len(part) - 1}"}
            response = await client.patch(f"/api/v4/jobs/{number}/trace", content=part, headers={**headers, **span})
            if response.status_code not in {httpx.codes.ACCEPTED, httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE}:
                return
            sent = int(response.headers["Range"].partition("-")[2])
            await asyncio.sleep(0.1)
        archive = ""
        if job["artifacts"]:
            content = zipped(number)
            upload: dict[str, tuple[str | None, bytes | str]] = {
                "file": ("artifacts.zip", content),
                "artifact_type": (None, "archive"),
            }
            response = await client.post(
                f"/api/v4/jobs/{number}/artifacts", files=upload, data={"artifact_format": "zip"}, headers=headers
            )
            if response.status_code != httpx.codes.CREATED:
                return
            archive = hashlib.sha256(content).hexdigest()
        state = (
            "failed" if variables.get("FAILS") and job["job_info"].get("name") == "flaky" and number % 2 else "success"
        )
        verdict = {
            "token": job["token"],
            "state": state,
            "output": {"checksum": f"crc32:{zlib.crc32(log):08x}", "bytesize": len(log)},
        }
        response = await client.put(f"/api/v4/jobs/{number}", json=verdict)
        if response.status_code == httpx.codes.OK:
            self.said.logs[number] = log
            self.said.ended[number] = state
            if archive:
                self.said.archives[number] = archive

    def perdure(self, *words: str) -> Program:
        """A command of the same settings."""
        known = {
            "PERDURE_HOME": str(self.server.home),
            "PERDURE_TEMPORAL_ADDRESS": self.temporal.address,
            "PERDURE_DATABASE_URL": self.database_url,
        }
        argv = [sys.executable, "-m", "cli.main", *words]
        return Program(argv, self.folder / f"{words[0]}.log", env=environment(**known))

    async def run(self, *words: str, expect: int = 0, within: float = 120) -> str:
        """Run a command to its end; what it printed."""
        program = self.perdure(*words)
        await program.start()
        code = await program.wait(within)
        assert code == expect, f"{words} ended with {code}:\n{program.output()}"
        return program.output()

    async def lose_everything(self, *, temporal: bool) -> None:
        """Stop it, then delete home, database, repositories, objects, and Temporal's store if that is wished."""
        await self.server.kill()
        shutil.rmtree(self.server.home)
        if self.database_url:
            connection = await asyncpg.connect(self.database_url.replace(DRIVER, "postgresql://"))
            await connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            await connection.close()
        if temporal:
            await self.temporal.stop()
            for file in self.temporal_folder.glob("temporal.db*"):
                file.unlink()
            await self.temporal.start()

    async def check(self, said: Acknowledged) -> None:
        """Everything that was acknowledged is there."""
        base = f"/api/v4/projects/{self.project_id}"
        headers = {"PRIVATE-TOKEN": self.token}  # the token itself is one of the things that must be back
        async with httpx.AsyncClient(base_url=self.server.url, headers=headers, trust_env=False, timeout=60) as client:

            async def get(path: str) -> httpx.Response:
                response = await client.get(f"{base}/{path}")
                assert response.status_code == httpx.codes.OK, (path, response.text)
                return response

            for pipeline in said.pipelines:
                found = (await get(f"pipelines/{pipeline}")).json()
                commit = await client.get(f"{base}/pipelines/{pipeline}")
                assert found["id"] == pipeline
                assert commit.json()["sha"]
            for job, state in said.ended.items():
                assert (await get(f"jobs/{job}")).json()["status"] == state
            for job, log in said.logs.items():
                assert (await get(f"jobs/{job}/trace")).content == log
            for job, digest in said.archives.items():
                assert hashlib.sha256((await get(f"jobs/{job}/artifacts")).content).hexdigest() == digest
            assert (await get("variables/SECRET")).json()["value"] == "sealed-in-the-database"

    async def all_end(self, within: float) -> None:
        """Every pipeline comes to its end."""

        async def look() -> bool:
            return not await self.unfinished()

        try:
            await eventually(look, "every pipeline has ended", within)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {await self.unfinished()}") from error

    async def unfinished(self) -> list[Any]:
        """Pipelines that have not ended; one that waits for its gate alone has (nobody plays it)."""
        async with self.server.client() as client:
            left = []
            for page in range(1, 20):
                path = f"/api/v4/projects/{self.project_id}/pipelines"
                items = (await client.get(path, params={"per_page": 100, "page": page})).json()
                left += [(item["id"], item["status"]) for item in items if item["status"] not in COMPLETE]
                if len(items) < 100:
                    return left
        raise AssertionError("too many pipelines")


def zipped(number: int) -> bytes:
    """An archive with one file."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("out", f"made by job {number}\n" * 1000)
    return target.getvalue()


@pytest.fixture(params=["sqlite", "postgresql"])
async def installation(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    """One that runs."""
    if request.param == "sqlite":
        async with _running(Installation(tmp_path, "")) as found:
            yield found
        return
    async with (
        fresh_database(request.getfixturevalue("postgres")) as url,
        _running(Installation(tmp_path, url)) as found,
    ):
        yield found


@asynccontextmanager
async def _running(installation: Installation) -> AsyncIterator[Installation]:
    try:
        await installation.start()
        yield installation
    except BaseException:
        sys.stderr.write(f"--- server ---\n{installation.server.program.log.read_text()[-8000:]}\n")
        raise
    finally:
        await installation.server.stop()
        await installation.temporal.stop()


async def _back_up_under_load(installation: Installation) -> tuple[Path, Acknowledged]:
    """The file, and what was acknowledged before it was begun. The load goes on for a while after it."""
    file = installation.folder / "kept.tar.zst"
    async with installation.load():
        for _ in range(8):
            await installation.create()

        async def is_busy() -> bool:
            return len(installation.said.ended) >= 20 and len(installation.said.archives) >= 5

        await eventually(is_busy, "jobs have ended", 90)
        before = installation.said.copy()
        await installation.run("backup", "--output", str(file))
        after = len(installation.said.ended)

        async def is_ahead() -> bool:
            return len(installation.said.ended) >= after + 15

        await eventually(is_ahead, "jobs have ended after the backup", 90)
    assert file.stat().st_mode & 0o777 == 0o600
    return file, before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("installation", "temporal"),
    [
        ("sqlite", "lost"),
        pytest.param("sqlite", "kept", marks=pytest.mark.nightly),
        pytest.param("postgresql", "lost", marks=pytest.mark.nightly),
        pytest.param("postgresql", "kept", marks=pytest.mark.nightly),
    ],
    indirect=["installation"],
)
async def test_everything_that_was_acknowledged_before_the_backup_is_back(
    installation: Installation, temporal: str
) -> None:
    file, before = await _back_up_under_load(installation)
    newest = max(installation.said.pipelines)
    await installation.lose_everything(temporal=temporal == "lost")
    await installation.run("restore", "--promote", str(file))
    await installation.server.start()
    await installation.check(before)
    async with installation.runners():
        await installation.all_end(60)
        await installation.check(before)
        made = await installation.create()
        assert made > newest + SKIPPED / 2
        await installation.all_end(60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "installation", ["postgresql", pytest.param("sqlite", marks=pytest.mark.nightly)], indirect=True
)
async def test_a_restore_that_is_killed_says_so_and_can_be_made_again(installation: Installation) -> None:
    file, before = await _back_up_under_load(installation)
    await installation.lose_everything(temporal=True)
    home = installation.server.home
    marker = home / "restoring.json"
    killed = 0
    for place in (marker, home / "repositories", home / "objects", home / "keys"):
        program = installation.perdure("restore", "--promote", str(file), *([] if marker.exists() else ["--force"]))
        await program.start()
        await _until_changed(place, program)
        await program.kill()
        if not marker.exists():
            continue  # it was quicker than we
        killed += 1
        said = await _refused_start(installation)
        assert "only half restored" in said
        assert "perdure restore" in said
    assert killed
    await installation.run("restore", str(file), *([] if marker.exists() else ["--force"]))
    await installation.server.start()
    await installation.check(before)


async def _until_changed(place: Path, program: Program) -> None:
    """Return as soon as a file or folder is there, or has changed, or the program has ended."""

    def look() -> int:
        return place.stat().st_mtime_ns if place.exists() else 0

    before = look()

    async def has_changed() -> bool:
        return look() != before or not program.running

    await eventually(has_changed, f"the restore comes to {place.name}", 60)


async def _refused_start(installation: Installation) -> str:
    try:
        await installation.server.start()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("the server started in a home that is half restored")
