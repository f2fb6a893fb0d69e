"""What the body of a webhook speaks of, beside the facts that were noted with the event."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.merge_requests.merge_request import detailed_status
from models.columns import table_of
from models.repositories.artifacts.artifacts import ARCHIVE, artifact
from models.repositories.merge_requests import merge_requests
from models.repositories.merge_requests.standings import known_so_far
from models.repositories.namespaces import planning_owners
from models.repositories.pipelines.warnings import PIPELINE
from models.repositories.projects import labels, relations
from models.rows.accounts import UserRow
from models.rows.hooks import EventDeliveryRow
from models.rows.labels import LabelRow
from models.rows.merge_requests import MergeRequestRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow
from models.rows.runners import RunnerRow
from models.tables.environments import Deployment, Environment
from models.tables.namespaces import Namespace
from models.tables.pipelines import Job, Pipeline, Stage
from models.tables.projects import Project
from models.typed_rows import all_of, first_of, one_of

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
class NamedProjectRow(ProjectRow):
    """A project, and the name of the group that it lies in."""

    namespace: str


@dataclass(frozen=True, slots=True)
class UpstreamRow:
    """The project of a pipeline that has triggered another one."""

    id: int
    full_path: str


@dataclass(frozen=True, slots=True)
class ToldJobRow:
    """What is told of a job: its environment, and the file of its artifacts, are not there for all."""

    id: int
    name: str
    stage_name: str
    attempt: int
    when: str
    user_id: int
    runner_id: int | None
    allow_failure: bool
    failure_reason: str
    created_at: datetime
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    environment_action: str
    environment: str | None
    environment_slug: str | None
    environment_tier: str | None
    external_url: str | None
    filename: str | None
    size: int | None


@dataclass(frozen=True, slots=True)
class ToldMergeRequest:
    """What a pipeline tests: a merge request into the project at `path`, with its `detailed_merge_status`."""

    row: MergeRequestRow
    path: str
    detailed_status: str


@dataclass(frozen=True, slots=True)
class Around:
    """The rows around an event: its project, pipeline, jobs; people and runners by id.

    `upstream` is the project of the pipeline that triggered this one, `source` that of a merge request's source branch,
    `merge_request` what the pipeline is for, `commit` (`git.reading.commit_facts`) that of a release. `labels` are
    those that a merge request has, and had, by name.
    """

    project: NamedProjectRow
    pipeline: PipelineRow | None = None
    jobs: Sequence[ToldJobRow] = ()
    stages: Sequence[str] = ()
    users: Mapping[int, UserRow] = field(default_factory=dict)
    runners: Mapping[int, RunnerRow] = field(default_factory=dict)
    upstream: UpstreamRow | None = None
    source: NamedProjectRow | None = None
    merge_request: ToldMergeRequest | None = None
    commit: Mapping[str, Any] | None = None
    labels: Mapping[str, LabelRow] = field(default_factory=dict)

    def user(self, key: int | None) -> UserRow | None:
        """Somebody, if the event names anybody who is there still."""
        return None if key is None else self.users.get(key)

    def runner(self, key: int | None) -> RunnerRow | None:
        """The runner, if there was one, and it is there still."""
        return None if key is None else self.runners.get(key)


async def around(connection: AsyncConnection, row: EventDeliveryRow) -> Around:
    """The rows around an event (`models.repositories.hooks.hook_deliveries.find`)."""
    of_project = one_of(NamedProjectRow, await connection.execute(_PROJECT.where(project.c.id == row.project_id)))
    if row.pipeline_id is None:
        named = _given([row.user_id, *row.facts.get("people", ())])
        people = await relations.users(connection, named)
        source = await _source(connection, row, of_project)
        return Around(of_project, users=people, source=source, labels=await _labels(connection, row, of_project))
    wanted = select(*PIPELINE).where(pipeline.c.id == row.pipeline_id)
    of_pipeline = one_of(PipelineRow, await connection.execute(wanted))
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
        merge_request=await _merge_request(connection, of_pipeline),
    )


def _given(ids: Iterable[int | None]) -> list[int]:
    return [key for key in ids if key is not None]


async def _jobs(connection: AsyncConnection, row: EventDeliveryRow) -> Sequence[ToldJobRow]:
    """The job of the event, or those that its pipeline had then."""
    if row.job_id is not None:
        return all_of(ToldJobRow, await connection.execute(_JOB.where(job.c.id == row.job_id)))
    wanted = {job_id for ids in row.facts.get("builds", {}).values() for job_id in ids}
    statement = _JOB.where(job.c.pipeline_id == row.pipeline_id).order_by(job.c.id)
    return [one for one in all_of(ToldJobRow, await connection.execute(statement)) if one.id in wanted]


async def _source(
    connection: AsyncConnection, row: EventDeliveryRow, of_project: NamedProjectRow
) -> NamedProjectRow | None:
    """The project of the source branch, for an event of a merge request; None for a fork that is gone."""
    key = row.facts.get("merge_request", {}).get("source_project_id")
    if key == of_project.id:
        return of_project
    if key is None:
        return None
    return first_of(NamedProjectRow, await connection.execute(_PROJECT.where(project.c.id == key)))


async def _labels(
    connection: AsyncConnection, row: EventDeliveryRow, of_project: NamedProjectRow
) -> Mapping[str, LabelRow]:
    """The labels that an event of a merge request names."""
    if "merge_request" not in row.facts:
        return {}
    sides = [row.facts["merge_request"]["labels"], *row.facts.get("changes", {}).get("labels", ())]
    names = {name for side in sides for name in side}
    if not names:
        return {}
    owner = await planning_owners.of_project(connection, of_project)
    return {one.name: one for one in await labels.known(connection, owner, names)}


async def _merge_request(connection: AsyncConnection, of_pipeline: PipelineRow) -> ToldMergeRequest | None:
    """What a pipeline is for, as it is now; None for one of a branch or a tag, or when it was deleted."""
    if of_pipeline.merge_request_id is None:
        return None
    row = await merge_requests.get(connection, of_pipeline.merge_request_id)
    if row is None:
        return None
    target = one_of(NamedProjectRow, await connection.execute(_PROJECT.where(project.c.id == row.project_id)))
    known = await known_so_far(connection, row, target)
    return ToldMergeRequest(row, target.full_path, detailed_status(known.standing))


async def _upstream(connection: AsyncConnection, of_pipeline: PipelineRow) -> UpstreamRow | None:
    if of_pipeline.upstream_project_id is None:
        return None
    statement = select(project.c.id, project.c.full_path).where(project.c.id == of_pipeline.upstream_project_id)
    return first_of(UpstreamRow, await connection.execute(statement))
