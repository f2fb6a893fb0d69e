"""The coverage of jobs, which is found in their logs, and of their pipelines."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import bindparam, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.commit_statuses import CommitStatus
from models.repositories.pipelines.job_rows import job

status = table_of(CommitStatus)

_OF_PIPELINE: Final = union_all(
    select(job.c.coverage).where(
        job.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried, job.c.coverage.is_not(None)
    ),
    select(status.c.coverage).where(
        status.c.pipeline_id == bindparam("b_pipeline"), ~status.c.retried, status.c.coverage.is_not(None)
    ),
)


async def put(connection: AsyncConnection, found: Mapping[int, float]) -> None:
    """Keep the coverage of jobs, by their ids."""
    for job_id, value in found.items():
        await connection.execute(update(job).where(job.c.id == job_id).values(coverage=value))


async def of_pipeline(connection: AsyncConnection, pipeline_id: int, name: str = "") -> Sequence[float]:
    """Those of the latest attempts of its jobs, and of what others report of its commit; of one `name` or all."""
    if name:
        parts = (
            select(table.c.coverage).where(
                table.c.pipeline_id == pipeline_id,
                ~table.c.retried,
                table.c.coverage.is_not(None),
                table.c.name == name,
            )
            for table in (job, status)
        )
        return (await connection.execute(union_all(*parts))).scalars().all()
    return (await connection.execute(_OF_PIPELINE, {"b_pipeline": pipeline_id})).scalars().all()
