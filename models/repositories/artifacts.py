"""Artifacts and test reports of jobs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.pipelines import Artifact, TestReport

artifact = table_of(Artifact)
test_report = table_of(TestReport)


async def find(connection: AsyncConnection, job_id: int, file_type: str) -> Record | None:
    """A job's artifact of one type, or None."""
    statement = select(artifact).where(artifact.c.job_id == job_id, artifact.c.file_type == file_type)
    return (await connection.execute(statement)).first()


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> None:
    """Keep an artifact of a job; one of each type."""
    await connection.execute(insert(artifact).values(**values, created_at=now))


async def of_jobs(connection: AsyncConnection, job_ids: Sequence[int]) -> Sequence[Record]:
    """Every artifact of these jobs."""
    statement = select(artifact).where(artifact.c.job_id.in_(job_ids)).order_by(artifact.c.id)
    return (await connection.execute(statement)).all()


async def put_report(connection: AsyncConnection, **values: Any) -> None:
    """Keep what a JUnit report says, in the place of an earlier one of the job."""
    await connection.execute(delete(test_report).where(test_report.c.job_id == values["job_id"]))
    await connection.execute(insert(test_report).values(**values))


async def reports_of(connection: AsyncConnection, pipeline_id: int) -> Sequence[Record]:
    """The test reports of a pipeline's jobs."""
    return (await connection.execute(select(test_report).where(test_report.c.pipeline_id == pipeline_id))).all()


async def remove(connection: AsyncConnection, artifact_id: int) -> None:
    """Forget an artifact; its object is the caller's to delete once this has committed."""
    await connection.execute(delete(artifact).where(artifact.c.id == artifact_id))
