"""Bridges in the real server process: pushed by git, run by a runner, read by the API."""

from pathlib import Path

from tests.e2e.player import Player
from tests.project import Project
from tests.server import SHORT_TIMES, Server
from tests.temporal import TemporalServer

PARENT = """
stages: [build, deploy]
build: {stage: build, script: make}
go: {stage: deploy, trigger: {include: child.yml, strategy: depend}}
"""
CHILD = "inner: {script: make}\n"


async def test_a_pushed_pipeline_ends_with_its_child(tmp_path: Path) -> None:
    temporal = TemporalServer(tmp_path)
    server = Server(tmp_path, temporal.address, **SHORT_TIMES)
    try:
        await temporal.start()
        await server.start()
        async with server.client() as client:
            files = {".gitlab-ci.yml": PARENT, "child.yml": CHILD}
            project = await Project.create(client, "tool", tmp_path / "tree", files)
            pipeline = await project.push()
            player = Player(client, server.credentials["registration_token"])
            await player.register()
            assert await player.play_until_idle(project, pipeline["id"]) == ["build", "inner"]
            assert (await project.ended(pipeline["id"]))["status"] == "success"
            (bridge,) = await project.get(f"pipelines/{pipeline['id']}/bridges")
            assert (bridge["status"], bridge["downstream_pipeline"]["status"]) == ("success", "success")
    finally:
        await server.stop()
        await temporal.stop()
