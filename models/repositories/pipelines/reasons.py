"""Why jobs are in their pipelines: read apart, since nothing else needs it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.paging import Listing, every_of
from models.tables.pipelines import Job

job = table_of(Job)


@dataclass(frozen=True, slots=True)
class ExplainedJob:
    """A job with the reason why it is in its pipeline (`why`)."""

    id: int
    name: str
    stage_name: str
    why: Mapping[str, Any]
    status: str
    bridge: bool
    demand_id: int


def listed(pipeline_id: int) -> Listing[ExplainedJob]:
    """Statement for the latest attempt of each job of a pipeline with its reason, in the order of the configuration."""
    statement = (
        select(job.c.id, job.c.name, job.c.stage_name, job.c.why, job.c.status, job.c.bridge, job.c.demand_id)
        .where(job.c.pipeline_id == pipeline_id, ~job.c.retried)
        .order_by(job.c.stage_position, job.c.position)
    )
    return Listing(statement, ExplainedJob)


async def of_jobs(connection: AsyncConnection, pipeline_id: int) -> Sequence[ExplainedJob]:
    """All of them."""
    return await every_of(connection, listed(pipeline_id))


async def of_job(connection: AsyncConnection, job_id: int) -> dict[str, Any]:
    """The reason of one job."""
    why: dict[str, Any] = (await connection.execute(select(job.c.why).where(job.c.id == job_id))).scalar_one()
    return why
