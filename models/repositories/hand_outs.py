"""What a runner is told of a job: read in the transaction of the claim, so that a poison payload never leaves it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.pipelines import Artifact, Pipeline
from models.repositories.job_rows import job
from models.tables import Organisation, Project, User

pipeline = table_of(Pipeline)
project = table_of(Project)
organisation = table_of(Organisation)
user = table_of(User)
artifact = table_of(Artifact)

ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class HandOut:
    """Rows behind a job: the job itself, its pipeline, project and owner, and the archives it may read."""

    job: Any
    pipeline: Any
    project: Any
    user: Any
    dependencies: Sequence[Any]


async def read(connection: AsyncConnection, job_id: int) -> HandOut:
    """Everything that the payload of a job is made of."""
    job_row = (await connection.execute(select(job).where(job.c.id == job_id))).one()
    pipeline_row = (await connection.execute(select(pipeline).where(pipeline.c.id == job_row.pipeline_id))).one()
    project_row = (await connection.execute(select(project).where(project.c.id == job_row.project_id))).one()
    user_row = (await connection.execute(select(user).where(user.c.id == job_row.user_id))).one()
    return HandOut(job_row, pipeline_row, project_row, user_row, await dependencies(connection, job_row))


async def dependencies(connection: AsyncConnection, job_row: Record) -> Sequence[Record]:
    """The archives that a job may download: of its `dependencies`, else its needs, else all earlier stages."""
    plan = job_row.plan
    names = plan.get("dependencies")
    if names is None and plan.get("needs") is not None:
        names = [need["job"] for need in plan["needs"] if need.get("artifacts", True)]
    if names is not None and not names:
        return ()
    statement = (
        select(job.c.id, job.c.name, artifact.c.filename, artifact.c.size, artifact.c.object_key, artifact.c.sha256)
        .join(artifact, artifact.c.job_id == job.c.id)
        .where(job.c.pipeline_id == job_row.pipeline_id, ~job.c.retried, artifact.c.file_type == ARCHIVE)
        .order_by(job.c.stage_position, job.c.position)
    )
    wanted = job.c.name.in_(names) if names is not None else job.c.stage_position < job_row.stage_position
    return (await connection.execute(statement.where(wanted))).all()
