"""Bridges in the real server process: pushed by git, run by a runner, read by the API."""

from pathlib import Path

import pytest

from tests.e2e.player import Player
from tests.project import Project
from tests.server import SHORT_TIMES, running_server
from tests.temporal import temporal_server

pytestmark = pytest.mark.slow

PARENT = """
stages: [build, deploy]
build: {stage: build, script: make}
go: {stage: deploy, trigger: {include: child.yml, strategy: depend}}
"""
CHILD = "inner: {script: make}\n"


async def test_a_pushed_pipeline_ends_with_its_child(tmp_path: Path) -> None:
    async with (
        temporal_server(tmp_path) as temporal,
        running_server(tmp_path, temporal, **SHORT_TIMES) as server,
        server.client() as client,
    ):
        files = {".gitlab-ci.yml": PARENT, "child.yml": CHILD}
        project = await Project.create(client, "tool", tmp_path / "tree", files)
        pipeline = await project.push()
        player = Player(client, server.credentials["registration_token"])
        await player.register()
        assert await player.play_until_idle(project, pipeline["id"]) == ["build", "inner"]
        assert (await project.ended(pipeline["id"]))["status"] == "success"
        (bridge,) = await project.get(f"pipelines/{pipeline['id']}/bridges")
        assert (bridge["status"], bridge["downstream_pipeline"]["status"]) == ("success", "success")
