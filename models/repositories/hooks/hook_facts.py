"""What the body of a webhook speaks of, beside the facts that were noted with the event."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.repositories.artifacts.artifacts import ARCHIVE, artifact
from models.repositories.projects import relations
from models.tables.environments import Deployment, Environment
from models.tables.namespaces import Namespace
from models.tables.pipelines import Job, Pipeline, Stage
from models.tables.projects import Project

job = table_of(Job)
pipeline = table_of(Pipeline)
stage = table_of(Stage)
project = table_of(Project)
group = table_of(Namespace)
environment = table_of(Environment)
deployment = table_of(Deployment)

_PROJECT: Final = select(project, group.c.name.label("namespace")).join(group, group.c.id == project.c.namespace_id)
_JOB: Final = (
    select(
        job.c.id,
        job.c.name,
        job.c.stage_name,
        job.c.attempt,
        job.c.when,
        job.c.user_id,
        job.c.runner_id,
        job.c.allow_failure,
        job.c.failure_reason,
        job.c.created_at,
        job.c.queued_at,
        job.c.started_at,
        job.c.finished_at,
        job.c.environment_action,
        environment.c.name.label("environment"),
        environment.c.slug.label("environment_slug"),
        environment.c.tier.label("environment_tier"),
        environment.c.external_url,
        artifact.c.filename,
        artifact.c.size,
    )
    .outerjoin(environment, environment.c.id == job.c.environment_id)
    .outerjoin(artifact, (artifact.c.job_id == job.c.id) & (artifact.c.file_type == ARCHIVE))
)


@dataclass(frozen=True, slots=True)
class Around:
    """The rows around an event: its project (with `namespace`, a name), pipeline, jobs; people and runners by id.

    `upstream` is the project of the pipeline that triggered this one, `source` that of a merge request's source branch.
    """

    project: Record
    pipeline: Record | None = None
    jobs: Sequence[Record] = ()
    stages: Sequence[str] = ()
    users: Mapping[int, Record] = field(default_factory=dict)
    runners: Mapping[int, Record] = field(default_factory=dict)
    upstream: Record | None = None
    source: Record | None = None


async def around(connection: AsyncConnection, row: Record) -> Around:
    """The rows around an event (`models.repositories.hooks.hook_deliveries.find`)."""
    of_project = (await connection.execute(_PROJECT.where(project.c.id == row.project_id))).one()
    if row.pipeline_id is None:
        named = _given([row.user_id, *row.facts.get("people", ())])
        source = await _source(connection, row, of_project)
        return Around(of_project, users=await relations.users(connection, named), source=source)
    of_pipeline = (await connection.execute(select(pipeline).where(pipeline.c.id == row.pipeline_id))).one()
    jobs = await _jobs(connection, row)
    stages = select(stage.c.name).where(stage.c.pipeline_id == row.pipeline_id).order_by(stage.c.position)
    runner_ids = {row.facts.get("runner_id"), *(one.runner_id for one in jobs)}
    return Around(
        project=of_project,
        pipeline=of_pipeline,
        jobs=jobs,
        stages=(await connection.execute(stages)).scalars().all(),
        users=await relations.users(connection, _given([row.user_id, *(one.user_id for one in jobs)])),
        runners=await relations.runners(connection, _given(runner_ids)),
        upstream=await _upstream(connection, of_pipeline),
    )


def _given(ids: Iterable[Any]) -> list[int]:
    return [key for key in ids if key is not None]


async def _jobs(connection: AsyncConnection, row: Record) -> Sequence[Record]:
    """The job of the event, or those that its pipeline had then."""
    if row.job_id is not None:
        return (await connection.execute(_JOB.where(job.c.id == row.job_id))).all()
    wanted = {job_id for ids in row.facts.get("builds", {}).values() for job_id in ids}
    found = (await connection.execute(_JOB.where(job.c.pipeline_id == row.pipeline_id).order_by(job.c.id))).all()
    return [one for one in found if one.id in wanted]


async def _source(connection: AsyncConnection, row: Record, of_project: Record) -> Record | None:
    """The project of the source branch, for an event of a merge request; None for a fork that is gone."""
    key = row.facts.get("merge_request", {}).get("source_project_id")
    if key == of_project.id:
        return of_project
    return (await connection.execute(_PROJECT.where(project.c.id == key))).first() if key is not None else None


async def _upstream(connection: AsyncConnection, of_pipeline: Record) -> Record | None:
    if of_pipeline.upstream_project_id is None:
        return None
    statement = select(project.c.id, project.c.full_path).where(project.c.id == of_pipeline.upstream_project_id)
    return (await connection.execute(statement)).first()
