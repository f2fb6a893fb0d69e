"""What the page of one job shows beside its row: what it was asked to do, and the jobs that it needs."""

from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from models.columns import table_of
from models.repositories.pipelines.jobs import LISTED
from models.repositories.pipelines.overview import Tally
from models.rows.environments import ResourceGroupRow
from models.rows.pipelines import JobRow, ListedJobRow
from models.tables.environments import ResourceGroup
from models.tables.pipelines import Job
from models.typed_rows import all_of, first_of

job = table_of(Job)
group = table_of(ResourceGroup)

MAX_NEEDS: Final = 200
"""So many needed jobs are read; a job may need 50 by default."""


async def whole(connection: AsyncConnection, job_id: int, project_id: int) -> JobRow:
    """A job with its large columns. Raises `NotFound`, also when it is another project's."""
    found = await connection.execute(select(job).where(job.c.id == job_id, job.c.project_id == project_id))
    row = first_of(JobRow, found)
    if row is None:
        raise NotFound("Job Not Found")
    return row


async def named(connection: AsyncConnection, pipeline_id: int, names: Collection[str]) -> Sequence[ListedJobRow]:
    """The latest attempts of the jobs of these names in a pipeline, in the order of the configuration."""
    if not names:
        return ()
    statement = (
        select(*LISTED)
        .where(job.c.pipeline_id == pipeline_id, ~job.c.retried, job.c.name.in_(sorted(names)[:MAX_NEEDS]))
        .order_by(job.c.stage_position, job.c.position)
    )
    return all_of(ListedJobRow, await connection.execute(statement))


async def earlier(connection: AsyncConnection, pipeline_id: int, stage: int) -> Sequence[Tally]:
    """How many jobs of the stages before the one at this position are in each state."""
    statement = (
        select(job.c.status, job.c.allow_failure, func.count().label("number"))
        .where(job.c.pipeline_id == pipeline_id, ~job.c.retried, job.c.stage_position < stage)
        .group_by(job.c.status, job.c.allow_failure)
        .order_by(job.c.status, job.c.allow_failure)
    )
    return all_of(Tally, await connection.execute(statement))


async def group_of(connection: AsyncConnection, group_id: int) -> ResourceGroupRow | None:
    """A resource group by its id."""
    return first_of(ResourceGroupRow, await connection.execute(select(group).where(group.c.id == group_id)))


async def environment_url(connection: AsyncConnection, job_id: int) -> str:
    """The address of a job's environment as its configuration writes it; empty for none."""
    place = (await connection.execute(select(job.c.plan["environment"]).where(job.c.id == job_id))).scalar()
    return str((place or {}).get("url", ""))
