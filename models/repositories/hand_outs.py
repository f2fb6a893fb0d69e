"""What a runner is told of a job: read in the transaction of the claim, so that a poison payload never leaves it."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.pipelines import Artifact, Pipeline, Stage
from models.repositories.job_rows import job
from models.tables import Project, User

pipeline = table_of(Pipeline)
project = table_of(Project)
user = table_of(User)
artifact = table_of(Artifact)
stage = table_of(Stage)

ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class HandOut:
    """Rows behind a job: the job itself, its pipeline, project and owner, and the archives it may read."""

    job: Any
    pipeline: Any
    project: Any
    user: Any
    dependencies: Sequence[Any]
    stage_status: str


_AROUND: Final = (
    select(
        *(column.label(f"pipeline_{column.name}") for column in pipeline.c),
        *(column.label(f"project_{column.name}") for column in project.c),
        *(column.label(f"user_{column.name}") for column in user.c),
        stage.c.status.label("stage_status"),
    )
    .select_from(
        job.join(pipeline, pipeline.c.id == job.c.pipeline_id)
        .join(project, project.c.id == job.c.project_id)
        .join(user, user.c.id == job.c.user_id)
        .join(stage, stage.c.id == job.c.stage_id)
    )
    .where(job.c.id == bindparam("b_job"))
)
_PARTS: Final = tuple(tuple(column.name for column in table.c) for table in (pipeline, project, user))

_ARCHIVES: Final = (
    select(job.c.id, job.c.name, artifact.c.filename, artifact.c.size, artifact.c.object_key, artifact.c.sha256)
    .add_columns(artifact.c.expire_at)
    .join(artifact, artifact.c.job_id == job.c.id)
    .where(job.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried, artifact.c.file_type == ARCHIVE)
    .order_by(job.c.stage_position, job.c.position)
)
_ARCHIVES_OF: Final = _ARCHIVES.where(job.c.name.in_(bindparam("b_names", expanding=True)))
_ARCHIVES_BEFORE: Final = _ARCHIVES.where(job.c.stage_position < bindparam("b_stage"))


async def read(connection: AsyncConnection, job_row: Record) -> HandOut:
    """Everything that the payload of a job is made of."""
    row = (await connection.execute(_AROUND, {"b_job": job_row.id})).one()
    values = iter(row)
    of_pipeline, of_project, of_user = (SimpleNamespace(**{name: next(values) for name in names}) for names in _PARTS)
    archives = await dependencies(connection, job_row)
    return HandOut(job_row, of_pipeline, of_project, of_user, archives, row.stage_status)


async def dependencies_of(connection: AsyncConnection, job_id: int) -> Sequence[Record]:
    """The archives that a job may download."""
    return await dependencies(connection, (await connection.execute(select(job).where(job.c.id == job_id))).one())


async def dependencies(connection: AsyncConnection, job_row: Record) -> Sequence[Record]:
    """The archives that a job may download: of its `dependencies`, else its needs, else all earlier stages."""
    plan = job_row.plan
    names = plan.get("dependencies")
    if names is None and plan.get("needs") is not None:
        names = [need["job"] for need in plan["needs"] if need.get("artifacts", True)]
    if (names is not None and not names) or (names is None and not job_row.stage_position):
        return ()
    if names is None:
        values = {"b_pipeline": job_row.pipeline_id, "b_stage": job_row.stage_position}
        return (await connection.execute(_ARCHIVES_BEFORE, values)).all()
    values = {"b_pipeline": job_row.pipeline_id, "b_names": list(names)}
    return (await connection.execute(_ARCHIVES_OF, values)).all()
