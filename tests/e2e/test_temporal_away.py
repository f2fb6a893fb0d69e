"""Temporal is away: at the start, and while runners work. The API goes on, and nothing is lost."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.e2e.player import Player
from tests.project import Project
from tests.server import SHORT_TIMES, STARTED_WITHIN, Server
from tests.temporal import TemporalServer
from tests.waiting import eventually

pytestmark = pytest.mark.slow

CONFIG = "build: {stage: build, script: make}\ncheck: {stage: test, script: make check}\n"


@pytest.fixture
async def temporal(tmp_path: Path) -> AsyncIterator[TemporalServer]:
    server = TemporalServer(tmp_path)
    yield server
    await server.stop()


async def test_a_push_waits_for_temporal_and_then_runs(tmp_path: Path, temporal: TemporalServer) -> None:
    server = Server(tmp_path, temporal.address, **SHORT_TIMES)
    await server.program.start()
    try:
        async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=30) as stranger:
            responses = partial(_answers, stranger, "/-/health")
            await eventually(responses, "the API answers without Temporal", STARTED_WITHIN)
            assert (await stranger.get("/-/ready")).status_code == 503
        async with server.client() as client:
            project = await _project(client, tmp_path)
            pipeline = await project.push()
            assert pipeline["status"] == "created"
            await temporal.start()
            player = Player(client, server.credentials["registration_token"])
            await player.register()
            assert await player.play_until_idle(project, pipeline["id"]) == ["build", "check"]
            assert (await project.ended(pipeline["id"]))["status"] == "success"
        await server.invariants_hold()
    finally:
        await server.stop()


async def test_verdicts_are_taken_while_temporal_is_away(tmp_path: Path, temporal: TemporalServer) -> None:
    await temporal.start()
    server = Server(tmp_path, temporal.address, **SHORT_TIMES)
    try:
        await server.start()
        async with server.client() as client:
            project = await _project(client, tmp_path)
            pipeline = await project.push()
            player = Player(client, server.credentials["registration_token"])
            await player.register()
            job = await player.job()
            await temporal.kill()
            assert await player.finish(job) == 200
            assert (await project.jobs(pipeline["id"]))["build"]["status"] == "success"
            await temporal.start()
            assert await player.play_until_idle(project, pipeline["id"]) == ["check"]
            assert (await project.ended(pipeline["id"]))["status"] == "success"
        await server.invariants_hold()
    finally:
        await server.stop()


async def _answers(client: httpx.AsyncClient, path: str) -> bool:
    try:
        return (await client.get(path)).status_code == 200
    except httpx.TransportError:
        return False


async def _project(client: httpx.AsyncClient, folder: Path) -> Project:
    tree = folder / "tree"
    tree.mkdir()
    return await Project.create(client, "away", tree, {".gitlab-ci.yml": CONFIG})
