"""What messages speak of, beside the facts that were noted with what happened."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import bindparam, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.tables.environments import Environment
from models.tables.namespaces import Namespace
from models.tables.pipelines import Job, Pipeline
from models.typed_rows import first_of

environment = table_of(Environment)
job = table_of(Job)
namespace = table_of(Namespace)
pipeline = table_of(Pipeline)


@dataclass(frozen=True, slots=True)
class DeployingJobRow:
    """A job that deploys, or waits to; `environment` is the name, empty for one that is gone."""

    id: int
    name: str
    user_id: int
    pipeline_id: int
    pipeline_user_id: int
    ref: str
    tag: bool
    sha: str
    environment_id: int | None
    environment: str
    environment_tier: str


_DEPLOYING: Final = (
    select(
        job.c.id,
        job.c.name,
        job.c.user_id,
        job.c.pipeline_id,
        pipeline.c.user_id.label("pipeline_user_id"),
        pipeline.c.ref,
        pipeline.c.tag,
        pipeline.c.sha,
        environment.c.id.label("environment_id"),
        func.coalesce(environment.c.name, "").label("environment"),
        func.coalesce(environment.c.tier, "").label("environment_tier"),
    )
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .outerjoin(environment, environment.c.id == job.c.environment_id)
    .where(job.c.id == bindparam("b_job"))
)


async def deploying_job(connection: AsyncConnection, job_id: int) -> DeployingJobRow | None:
    """A job that deploys; None for one that is gone."""
    return first_of(DeployingJobRow, await connection.execute(_DEPLOYING, {"b_job": job_id}))


async def groups_around(connection: AsyncConnection, namespace_id: int) -> tuple[int, ...]:
    """The groups that a project of this group lies in, the innermost first."""
    trail = (await connection.execute(select(namespace.c.trail).where(namespace.c.id == namespace_id))).scalar()
    return tuple(int(part) for part in reversed((trail or "").strip("/").split("/")) if part)
