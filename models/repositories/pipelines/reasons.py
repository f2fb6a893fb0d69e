"""Why jobs are in their pipelines: read apart, since nothing else needs it."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.tables.pipelines import Job

job = table_of(Job)


async def of_jobs(connection: AsyncConnection, pipeline_id: int) -> Sequence[Record]:
    """The latest attempt of each job of a pipeline with its reason, in the order of the configuration.

    Each row has what `waiting_jobs.reasons` wants of a job.
    """
    statement = (
        select(job.c.id, job.c.name, job.c.stage_name, job.c.why, job.c.status, job.c.bridge, job.c.demand_id)
        .where(job.c.pipeline_id == pipeline_id, ~job.c.retried)
        .order_by(job.c.stage_position, job.c.position)
    )
    return (await connection.execute(statement)).all()


async def of_job(connection: AsyncConnection, job_id: int) -> dict[str, Any]:
    """The reason of one job."""
    why: dict[str, Any] = (await connection.execute(select(job.c.why).where(job.c.id == job_id))).scalar_one()
    return why
