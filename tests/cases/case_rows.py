"""Job rows as the `temporal` engine looks at them, and changes them where nothing in the product can."""

from datetime import timedelta

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from temporalio import activity

from domain.pipelines.resource_groups import choose
from domain.pipelines.status import Status
from models.clock import system_clock
from models.repositories.pipelines import job_rows, resource_groups, verdicts
from models.session import Database
from tests.models.world import job


class CaseRows:
    """Activities that only a test's worker offers."""

    def __init__(self, database: Database) -> None:
        """Work on this database."""
        self._database = database

    @activity.defn(name="on_its_way")
    async def on_its_way(self, pipeline_id: int) -> dict[str, list[int]]:
        """Jobs of a pipeline that have `ended` while no decision has recorded it, and `promised` ones (`_promised`)."""
        ended = select(job.c.id).where(job.c.pipeline_id == pipeline_id, ~job.c.folded)
        async with self._database.read() as connection:
            return {
                "ended": list((await connection.execute(ended)).scalars()),
                "promised": await _promised(connection, pipeline_id),
            }

    @activity.defn(name="skip")
    async def skip(self, job_id: int) -> bool:
        """Skip a job; whether it was created or pending."""
        async with self._database.write() as connection:
            status = (await connection.execute(select(job.c.status).where(job.c.id == job_id))).scalar_one()
            if status == Status.PENDING:  # somebody waits for it, and has to hear of the end
                return bool(await verdicts.end_jobs(connection, [job_id], Status.SKIPPED, system_clock()))
            return bool(await job_rows.set_status(connection, [job_id], Status.SKIPPED, system_clock()))

    @activity.defn(name="due")
    async def due(self, job_id: int) -> bool:
        """Let the time of a job have come; whether it was scheduled."""
        past = system_clock() - timedelta(hours=1)  # the clock of a workflow stands still between its tasks
        scheduled = update(job).where(job.c.id == job_id, job.c.status == Status.SCHEDULED)
        async with self._database.write() as connection:
            return bool((await connection.execute(scheduled.values(due_at=past))).rowcount)


async def _promised(connection: AsyncConnection, pipeline_id: int) -> list[int]:
    """Jobs of a pipeline one of which is about to get the slot of its resource group."""
    waiting = select(job.c.id, job.c.resource_group_id).where(
        job.c.pipeline_id == pipeline_id, job.c.status == Status.WAITING_FOR_RESOURCE
    )
    rows = (await connection.execute(waiting)).all()
    for group_id in sorted({row.resource_group_id for row in rows}):
        seen = await resource_groups.situation(connection, group_id)
        if seen is not None and choose(seen.mode, seen.is_free, seen.candidates) is not None:
            return [row.id for row in rows if row.resource_group_id == group_id]
    return []
