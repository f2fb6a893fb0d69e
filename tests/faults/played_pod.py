"""A real server process and a real Temporal server, each of which a test may kill; runners are played by HTTP."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.faults.ledger import Ledger
from tests.faults.players import Players
from tests.project import Project
from tests.server import Server
from tests.temporal import TemporalServer
from tests.waiting import eventually

TIMES: dict[str, Any] = {
    "lease_tick": 0.5,
    "hand_out_window": 4,
    "runner_lost": 120,
    "outage_bonus_min": 2,
    "long_poll": 5,
    "queue_rescan": 1,
    "reconcile_every": 3,
    "outbox_not_found": 2,
}
"""A runner that is played never falls silent for good, so no job is ever given up; everything else is short."""


class PlayedPod:
    """One installation; `server` and `temporal` are for the test to kill."""

    def __init__(self, folder: Path, **settings: object) -> None:
        """`folder` takes everything; call `start` next."""
        self.folder = folder
        self.temporal_folder = folder / "temporal"
        self.temporal_folder.mkdir()
        self.temporal = TemporalServer(self.temporal_folder)
        self.server = Server(folder / "server", self.temporal.address, **{**TIMES, **settings})
        self.ledger = Ledger(self.server.home)
        self._played: set[int] = set()

    async def start(self, files: Mapping[str, str], runners: int) -> None:
        """Start both, make a project of these files, and register so many runners."""
        await self.temporal.start()
        await self.server.start()
        tree = self.folder / "tree"
        tree.mkdir()
        async with self.server.client() as client:
            self.project = await Project.create(client, "played", tree, files)
        self.tokens = [await self.runner() for _ in range(runners)]

    async def push(self, *options: str) -> int:
        """Push the project with these push options; the id of its latest pipeline."""
        async with self.server.client() as client:
            await self.project.commit({})
            made = await Project(client, self.project.id, self.project.tree).push(*options)
        assert not made["yaml_errors"], made["yaml_errors"]
        return int(made["id"])

    async def create(self, **variables: str) -> int:
        """A pipeline of what was pushed, with these variables; its id."""
        given = [{"key": key, "value": value} for key, value in variables.items()]
        async with self.server.client() as client:
            path = f"/api/v4/projects/{self.project.id}/pipeline"
            response = await client.post(path, json={"ref": "main", "variables": given})
        assert response.status_code == httpx.codes.CREATED, response.text
        return int(response.json()["id"])

    async def runner(self, tag: str = "") -> str:
        """Register a runner, for jobs with this tag only if there is one; its token."""
        async with self.server.client() as client:
            wish = {"runner_type": "instance_type", "tag_list": tag, "run_untagged": not tag}
            response = await client.post("/api/v4/user/runners", json=wish)
        assert response.status_code == httpx.codes.CREATED, response.text
        return str(response.json()["token"])

    @asynccontextmanager
    async def playing(
        self, tokens: Sequence[str] = (), *, seed: int = 0, longest: float = 0.0
    ) -> AsyncIterator[Players]:
        """Runners (all untagged ones by default), and somebody who plays manual jobs whose names begin with `play`.

        At the end of the block each runner ends its job.
        """
        players = Players(self.server.url, tokens or self.tokens, seed=seed, longest=longest)
        tasks = [asyncio.create_task(players.play()), asyncio.create_task(self._play_manual_jobs())]
        try:
            yield players
            await players.rest()
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def _play_manual_jobs(self) -> None:
        """Once each: a command that was taken is carried out, and a second one would retry a job that has ended."""
        async with self.server.client() as client:
            while True:
                waiting = self.ledger.rows("SELECT id FROM job WHERE status = 'manual' AND name LIKE 'play%'")
                for row in waiting:
                    if row["id"] in self._played:
                        continue
                    self._played.add(row["id"])
                    if not await self._play(client, row["id"]):
                        self._played.discard(row["id"])
                await asyncio.sleep(0.3)

    async def _play(self, client: httpx.AsyncClient, job_id: int) -> bool:
        """Whether the command was taken."""
        try:
            response = await client.post(f"/api/v4/projects/{self.project.id}/jobs/{job_id}/play")
        except httpx.TransportError:
            return False
        return response.is_success

    async def over(self, *pipelines: int, within: float = 120.0) -> None:
        """Wait until these pipelines are over; an error shows what is left."""

        async def look() -> bool:
            return all(self.ledger.is_over(pipeline) for pipeline in pipelines)

        try:
            await eventually(look, "the pipelines are over", within)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.left(*pipelines)}") from error
        await self.server.invariants_hold()

    def left(self, *pipelines: int) -> str:
        """What is not complete, and what Temporal was not told."""
        lines = []
        for pipeline in pipelines:
            for job in self.ledger.attempts(pipeline):
                if job["status"] not in {"success", "failed", "canceled", "skipped"} or not job["folded"]:
                    lines.append(f"{job['pipeline_id']} {job['name']} {job['id']} {job['status']} {job['folded']}")
        outbox = self.ledger.rows("SELECT kind, pipeline_id, job_id, attempts, sent_at, error FROM outbox")
        return "\n".join([*lines, *(str(tuple(row)) for row in outbox)])

    async def empty_temporal(self) -> None:
        """Stop Temporal, delete its database, start it again."""
        await self.temporal.stop()
        files = list(self.temporal_folder.glob("temporal.db*"))
        assert files
        for file in files:
            file.unlink()
        await self.temporal.start()

    async def close(self) -> None:
        """End both."""
        await self.server.stop()
        await self.temporal.stop()


@asynccontextmanager
async def played_pod(
    folder: Path, files: Mapping[str, str], runners: int = 8, **settings: object
) -> AsyncIterator[PlayedPod]:
    """A pod that runs, with a project of these files; what its server printed goes to stderr when the block fails."""
    pod = PlayedPod(folder, **settings)
    try:
        await pod.start(files, runners)
        yield pod
    except BaseException:
        sys.stderr.write(f"--- server ---\n{pod.server.program.log.read_text()[-8000:]}\n")
        raise
    finally:
        await pod.close()
