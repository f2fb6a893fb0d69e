"""Removing a project with every row that belongs to it, found by the foreign keys of all tables."""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.status import COMPLETE
from models.columns import table_of
from models.pipelines import Pipeline
from models.repositories import job_objects, row_removal
from models.repositories.job_rows import job
from models.tables import Project

project = table_of(Project)
pipeline = table_of(Pipeline)


async def unfinished(connection: AsyncConnection, project_id: int) -> int:
    """How many pipelines of a project have not ended."""
    statement = select(func.count()).where(pipeline.c.project_id == project_id, pipeline.c.status.not_in(COMPLETE))
    return int((await connection.execute(statement)).scalar_one())


async def remove(connection: AsyncConnection, project_id: int) -> None:
    """Remove the rows; objects of the store are noted as doomed. What others refer to is forgotten there."""
    await job_objects.doom(connection, job.c.project_id == project_id)
    rules = row_removal.rules_of(project, project.c.id == project_id, "project_id", project_id)
    await row_removal.remove(connection, rules, "project_id")
