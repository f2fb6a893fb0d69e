"""An installation with schedules, where the test lets time pass and makes the pipelines of ticks when it likes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import Row, select, update

from api.app import create_app
from domain.schedules.ticks import Tick
from loops.schedule_ticks import TickLoop
from models.columns import table_of
from models.repositories.pipelines import schedule_ticks
from models.tables.outbox import Outbox
from models.tables.pipelines import Pipeline
from models.tables.schedules import PipelineSchedule, ScheduleTick, ScheduleVariable
from tests.api.v4.site import Person, Site, open_site
from tests.git.serving import git

schedule_table = table_of(PipelineSchedule)
tick_table = table_of(ScheduleTick)
variable_table = table_of(ScheduleVariable)
pipeline_table = table_of(Pipeline)
outbox_table = table_of(Outbox)

CONFIG = {".gitlab-ci.yml": "build: {script: make}\n"}
SIDE = "side"
"""A branch that is not protected, beside `main`, which is."""
BEGIN = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
"""A Monday, half a minute after noon."""


@dataclass
class Time:
    """A clock that stands still until somebody moves it."""

    now: datetime = BEGIN

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Planned:
    """`site` with its project; `time` is what every part of it takes for the present."""

    site: Site
    time: Time
    loop: TickLoop
    people: dict[str, Person] = field(default_factory=dict)

    @property
    def project_id(self) -> int:
        """The site's project."""
        return self.site.world.project_id

    def path(self, rest: str = "") -> str:
        """Address of the schedules of the project."""
        return f"/api/v4/projects/{self.project_id}/pipeline_schedules{rest}"

    async def call(self, method: str, rest: str = "", person: Person | None = None, **body: Any) -> httpx.Response:
        """Call the REST API as root, unless somebody else is named."""
        async with self.site.client(person or self.site.root) as client:
            return await client.request(method, self.path(rest), json=body or None)

    async def schedule(self, cron: str = "* * * * *", person: Person | None = None, **fields: Any) -> dict[str, Any]:
        """Make a schedule of `main`."""
        body = {"description": "nightly", "ref": "main", "cron": cron, **fields}
        response = await self.call("POST", person=person, **body)
        assert response.status_code == httpx.codes.CREATED, response.text
        made: dict[str, Any] = response.json()
        return made

    async def pass_to(self, minutes: float, *, carry_out: bool = True) -> None:
        """Let it be so many minutes after the beginning, and account for what was due, as Temporal's ticks do."""
        self.time.now = BEGIN + timedelta(minutes=minutes)
        await self.account()
        if carry_out:
            await self.loop.carry_out_due()

    async def account(self) -> None:
        """Write the rows of all ticks that are due now."""
        async with self.site.services.database.write() as connection:
            for schedule_id in await schedule_ticks.overdue(connection, self.time.now + timedelta(microseconds=1)):
                while (await schedule_ticks.account(connection, schedule_id, self.time.now, self.time.now)).more:
                    continue

    async def rows(self, table: Any, order: str = "id", **equal: Any) -> list[Row[Any]]:
        """Rows of a table, in the order of a column."""
        statement = select(table).order_by(table.c[order])
        for name, value in equal.items():
            statement = statement.where(table.c[name] == value)
        async with self.site.services.database.read() as connection:
            return list((await connection.execute(statement)).all())

    async def ticks(self, schedule_id: int) -> list[tuple[int, str]]:
        """Minute and outcome of each tick, in the order of time."""
        rows = sorted(await self.rows(tick_table, schedule_id=schedule_id), key=lambda row: row.due_at)
        return [(row.due_at.minute, row.outcome) for row in rows]

    async def end(self, pipeline_id: int, status: str = "success") -> None:
        """Let a pipeline have a status."""
        async with self.site.services.database.write() as connection:
            await connection.execute(
                update(pipeline_table).where(pipeline_table.c.id == pipeline_id).values(status=status)
            )

    async def set_schedule(self, schedule_id: int, **values: Any) -> None:
        """Write columns of a schedule behind everybody's back."""
        async with self.site.services.database.write() as connection:
            await connection.execute(update(schedule_table).where(schedule_table.c.id == schedule_id).values(**values))


def tick_of(schedule_id: int, minutes: int, revision: int = 1) -> Tick:
    """What Temporal says of the tick so many minutes after noon."""
    return Tick(schedule_id, revision, BEGIN.replace(second=0) + timedelta(minutes=minutes))


@asynccontextmanager
async def planned(folder: Path, database_url: str = "") -> AsyncIterator[Planned]:
    """An installation in `folder` whose `main` has a pipeline with one job."""
    async with open_site(folder, database_url) as opened:
        time = Time()
        services = replace(opened.services, clock=time)
        site = replace(opened, services=services, app=create_app(services))
        await site.commit(CONFIG)
        repository = site.services.repositories.path(site.world.project_id)
        await git("push", "-q", repository, f"main:{SIDE}", cwd=site.folder / "tree")
        yield Planned(site, time, TickLoop(services))
