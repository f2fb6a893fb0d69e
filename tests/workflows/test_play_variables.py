"""A job is played by the HTTP API with a secret: its runner gets it, Temporal and the outbox never hold it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from activities.pipelines import PipelineActivities
from activities.resource_groups import ResourceGroupActivities
from activities.schedules import ScheduleActivities
from activities.temporal_client import connect
from activities.temporal_namespace import prepare_namespace
from activities.temporal_worker import make_worker
from loops.relay import Relay
from models.columns import table_of
from models.repositories.pipelines.pipelines import PipelineRequest, create
from models.tables.outbox import Outbox, PlayVariables
from tests.api.runner.world import SHA
from tests.api.v4.site import Site, open_site
from tests.compiling import plan_of
from tests.temporal import new_namespace
from tests.waiting import eventually
from workflows.await_job import workflow_id
from workflows.handles import Pipelines

SECRET = "canary-of-a-play"
GATE = "gate: {script: x, when: manual}\n"
WITHIN = 60.0


class Played:
    """A site whose pipelines run on the real Temporal server."""

    def __init__(self, site: Site, client: Client, queue: str) -> None:
        """`start` nothing: the fixture does."""
        self.site = site
        self.client = client
        self.pipelines = Pipelines(client, queue)
        services = site.services
        settings = services.settings
        self.relay = Relay(services.database, self.pipelines, services.notifications, services.clock, settings)

    async def manual_job(self) -> tuple[int, dict[str, Any]]:
        """A pipeline, and its job that waits for a person."""
        services, world = self.site.services, self.site.world
        wish = PipelineRequest(world.project_id, world.user_id, "main", SHA, "push")
        async with services.database.write() as connection:
            pipeline_id = await create(connection, wish, plan_of(GATE), services.clock(), seal=str)

        async def look() -> dict[str, Any] | None:
            await self.relay.send_due()
            async with self.site.client(self.site.root) as client:
                response = await client.get(f"/api/v4/projects/{world.project_id}/pipelines/{pipeline_id}/jobs")
            (job,) = response.json()
            return job if job["status"] == "manual" else None

        return pipeline_id, await eventually(look, "the job waits for a person", WITHIN)

    async def play(self, job_id: int) -> int:
        """Play it with the secret; the HTTP status."""
        address = f"/api/v4/projects/{self.site.world.project_id}/jobs/{job_id}/play"
        body = {"job_variables_attributes": [{"key": "TOKEN", "value": SECRET}]}
        async with self.site.client(self.site.root) as client:
            return (await client.post(address, json=body)).status_code

    async def handed_out(self) -> dict[str, str]:
        """The variables with which a runner gets the job."""

        async def look() -> dict[str, Any] | None:
            await self.relay.send_due()
            response = await self.site.world.request()
            return response.json() if response.status_code == 201 else None

        payload = await eventually(look, "a runner gets the job", WITHIN)
        return {variable["key"]: variable["value"] for variable in payload["variables"]}

    async def rows(self, table: Any) -> str:
        """A table as text."""
        async with self.site.services.database.read() as connection:
            return str((await connection.execute(table_of(table).select())).all())

    async def history(self, pipeline_id: int) -> bytes:
        """Every byte that Temporal keeps of the pipeline."""
        found = await self.client.get_workflow_handle(workflow_id(pipeline_id)).fetch_history()
        return b"".join(event.SerializeToString() for event in found.events)


@pytest.fixture
async def played(temporal: str, tmp_path: Path) -> AsyncIterator[Played]:
    """A site of its own in a namespace of its own."""
    async with open_site(tmp_path, "") as site:
        known = {"temporal_address": temporal, "temporal_namespace": await new_namespace(temporal)}
        settings = site.services.settings.model_copy(update=known)
        client = await connect(settings)
        await prepare_namespace(client, "site")
        activities = PipelineActivities(site.services.database, site.services.notifications, site.services.clock)
        groups = ResourceGroupActivities(site.services.database)
        ticks = ScheduleActivities(site.services.database, site.services.notifications, site.services.clock)
        async with make_worker(client, activities, settings, groups, ticks):
            yield Played(site, client, settings.queue)


async def test_a_secret_of_a_play_reaches_the_runner_and_no_history(played: Played) -> None:
    pipeline_id, job = await played.manual_job()
    played.site.services.temporal.connected = played.pipelines
    assert await played.play(job["id"]) == 200
    assert (await played.handed_out())["TOKEN"] == SECRET
    history = await played.history(pipeline_id)
    assert b"play_job" in history
    assert SECRET.encode() not in history
    assert await played.rows(PlayVariables) == "[]"


async def test_a_secret_of_a_play_waits_in_sql_while_temporal_is_away(played: Played) -> None:
    pipeline_id, job = await played.manual_job()
    assert await played.play(job["id"]) == 202
    waiting = await played.rows(Outbox)
    assert "play_job" in waiting
    assert SECRET not in waiting
    kept = await played.rows(PlayVariables)
    assert "TOKEN" in kept
    assert SECRET not in kept
    assert (await played.handed_out())["TOKEN"] == SECRET
    assert SECRET.encode() not in await played.history(pipeline_id)
    assert await played.rows(PlayVariables) == "[]"
