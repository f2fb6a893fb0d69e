"""With nothing but defaults: a pipeline fails, the server is killed, and a plain signal retries the pipeline."""

from pathlib import Path

import pytest

from tests.e2e.player import Player
from tests.project import Project
from tests.server import SHORT_TIMES, running_server
from tests.temporal import TemporalServer
from tests.waiting import eventually
from tests.workflows.command import temporal as command

pytestmark = pytest.mark.slow

CONFIG = "flaky: {script: make}\n"


async def test_a_signal_reaches_a_failed_pipeline_of_a_server_that_was_killed(tmp_path: Path) -> None:
    """Ten seconds for two starts of the server: what an operator does first must work as the product is delivered."""
    temporal = TemporalServer(tmp_path)
    await temporal.start()
    try:
        async with running_server(tmp_path, temporal.address, **SHORT_TIMES) as server, server.client() as client:
            (tmp_path / "tree").mkdir()
            project = await Project.create(client, "retried", tmp_path / "tree", {".gitlab-ci.yml": CONFIG})
            pipeline = await project.push()
            player = Player(client, server.credentials["registration_token"])
            await player.register()
            assert await player.finish(await player.job(), "failed") == 200
            assert (await project.ended(pipeline["id"]))["status"] == "failed"
            await server.kill()
            name = f"pipeline-{pipeline['id']}"
            words = ("workflow", "signal", "--workflow-id", name, "--name", "retry_pipeline")
            assert (await command(temporal.address, *words)).code == 0
            await server.start()
            assert await player.finish(await player.job()) == 200

            async def is_completed() -> bool:
                said = await command(
                    temporal.address, "workflow", "describe", "--workflow-id", name, "--output", "json"
                )
                return "WORKFLOW_EXECUTION_STATUS_COMPLETED" in said.out

            await eventually(is_completed, "the workflow is completed")
    finally:
        await temporal.stop()
