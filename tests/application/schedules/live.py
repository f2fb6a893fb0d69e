"""Schedules with a real Temporal: worker, keeper and the loop that makes pipelines run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Row, delete
from temporalio.client import Client, ScheduleActionExecutionStartWorkflow

from activities.pipelines import PipelineActivities
from activities.resource_groups import ResourceGroupActivities
from activities.schedules import ScheduleActivities
from activities.temporal_client import connect
from activities.temporal_namespace import prepare_namespace
from activities.temporal_worker import make_worker
from loops.schedule_ticks import TickLoop
from loops.schedules import ScheduleKeeper
from tests.api.v4.site import Site, open_site
from tests.application.schedules.planned import CONFIG, Planned, Time, schedule_table, tick_table
from tests.temporal import new_namespace
from tests.waiting import eventually
from workflows.schedules import Schedules

WITHIN = 30.0


@dataclass
class Live:
    """`here` calls the REST API; `keeper` runs only when it is told to."""

    here: Planned
    client: Client
    temporal: Schedules
    keeper: ScheduleKeeper

    async def schedule(self, cron: str = "0 0 1 1 *", **fields: Any) -> int:
        """Make a schedule that Temporal has; its id."""
        made = await self.here.schedule(cron, **fields)
        assert await self.keeper.mirror()
        return int(made["id"])

    async def settled(self, schedule_id: int, number: int = 1) -> list[Row[Any]]:
        """The ticks of a schedule, as soon as so many have their last word."""

        async def look() -> list[Row[Any]]:
            rows = await self.here.rows(tick_table, schedule_id=schedule_id)
            over = [row for row in rows if row.outcome not in {"due", "waiting"}]
            return over if len(over) == len(rows) >= number else []

        return await eventually(look, f"{number} ticks have their last word", WITHIN)

    async def results(self, schedule_id: int, number: int = 1) -> list[dict[str, Any]]:
        """What the workflows of a schedule gave back, as soon as so many are closed."""

        async def look() -> list[dict[str, Any]]:
            info = (await self.temporal.handle(schedule_id).describe()).info
            done = info.recent_actions
            if len(done) < number:
                return []
            started = [one.action for one in done if isinstance(one.action, ScheduleActionExecutionStartWorkflow)]
            return [await self.client.get_workflow_handle(one.workflow_id).result() for one in started]

        return await eventually(look, f"{number} workflows are closed", WITHIN)

    async def forget_in_sql(self, schedule_id: int) -> None:
        """Take a schedule out of SQL behind everybody's back, as a restored database would."""
        async with self.here.site.services.database.write() as connection:
            await connection.execute(delete(schedule_table).where(schedule_table.c.id == schedule_id))


@asynccontextmanager
async def live(folder: Path, address: str) -> AsyncIterator[Live]:
    """An installation in `folder` on a Temporal server."""
    async with open_site(folder, "") as site:
        await site.commit(CONFIG)
        namespace = await new_namespace(address)
        settings = site.services.settings.model_copy(
            update={"temporal_address": address, "temporal_namespace": namespace, "workflow_sandbox": True}
        )
        client = await connect(settings)
        await prepare_namespace(client, "tests")
        async with _working(site, client, settings) as here:
            temporal = Schedules(client, settings.queue)
            services = site.services
            keeper = ScheduleKeeper(services.database, temporal, services.notifications, services.clock, settings.times)
            yield Live(here, client, temporal, keeper)


@asynccontextmanager
async def _working(site: Site, client: Client, settings: Any) -> AsyncIterator[Planned]:
    services = site.services
    shared = (services.database, services.notifications, services.clock)
    activities, groups = PipelineActivities(*shared), ResourceGroupActivities(services.database)
    worker = make_worker(client, activities, settings, groups, ScheduleActivities(*shared))
    here = Planned(site, Time(), TickLoop(services))
    making = asyncio.create_task(here.loop.run())
    try:
        async with worker:
            yield here
    finally:
        making.cancel()
        with suppress(asyncio.CancelledError):
            await making
