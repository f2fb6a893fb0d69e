"""An installation with real workflows: worker, relay and bridge loop run, the test is every runner and every user."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx

from models.notifications import OUTBOX
from tests.application.bridges.installation import Installation
from tests.models.world import pipeline
from tests.temporal import new_namespace
from tests.waiting import eventually
from tests.workflows.pod import Pod

WITHIN = 60.0


@dataclass
class Running:
    """`pod` plays the runners, `here` makes projects and pipelines."""

    here: Installation
    pod: Pod

    async def start(self, files: dict[str, str], **request: Any) -> int:
        """A pipeline of these files, as a push would make it."""
        made = await self.here.create(files, **request)
        await self.pod.notifications.notify(OUTBOX)
        return made

    async def downstream(self, pipeline_id: int, name: str) -> Any:
        """The downstream pipeline of a bridge, as soon as there is one."""

        async def look() -> Any:
            row = await self.here.named(pipeline_id, name)
            if row.downstream_id is None:
                return None
            return await self.here.world.row(pipeline, id=row.downstream_id)

        return await eventually(look, f"{name} has a downstream pipeline", WITHIN)

    async def until(self, pipeline_id: int, status: str) -> None:
        """Wait until a pipeline has a status."""

        async def look() -> bool:
            return await self.here.world.status(pipeline_id) == status

        await eventually(look, f"pipeline {pipeline_id} is {status}", WITHIN)

    async def post(self, path: str) -> dict[str, Any]:
        """Call the REST API of the first project as its owner, who is told that it worked."""
        async with self.here.site.client(self.here.site.root) as client:
            response = await client.post(f"/api/v4/projects/{self.here.world.project_id}/{path}")
        assert response.status_code in {httpx.codes.OK, httpx.codes.CREATED, httpx.codes.ACCEPTED}, response.text
        document: dict[str, Any] = response.json()
        return document


@asynccontextmanager
async def running(here: Installation, temporal: str, **settings: Any) -> AsyncIterator[Running]:
    """Let everything run in a Temporal namespace of its own, with these settings."""
    services = here.site.services
    changed = services.settings.model_copy(update={"temporal_address": temporal, **settings})
    pod = Pod(here.world, changed, services.notifications)
    async with pod.working(await new_namespace(temporal)):
        services.temporal.connected = pod.pipelines
        bridges = asyncio.create_task(here.loop.run())
        try:
            yield Running(here, pod)
        finally:
            bridges.cancel()
            with suppress(asyncio.CancelledError):
                await bridges
