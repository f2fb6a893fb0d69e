"""What a runner is told of a job: read in the transaction of the claim, so that a poison payload never leaves it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final

from sqlalchemy import Select, bindparam, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.variables.ci_variables import CiVariable
from domain.variables.job_variables import JobVariable
from models.columns import Record, padded, table_of
from models.repositories.artifacts.artifacts import ARCHIVE, artifact
from models.repositories.artifacts.reports import DOTENV, report
from models.repositories.pipelines.job_rows import job
from models.repositories.projects import ci_variables
from models.tables.accounts import User
from models.tables.deploy_tokens import DeployToken
from models.tables.environments import Environment
from models.tables.installation import Installation
from models.tables.pipelines import Pipeline, Stage
from models.tables.projects import Project
from models.tables.queue import Lease, QueueEntry

pipeline = table_of(Pipeline)
project = table_of(Project)
user = table_of(User)
stage = table_of(Stage)
installation = table_of(Installation)
environment = table_of(Environment)
lease = table_of(Lease)
waiting = table_of(QueueEntry)
ci_variable = ci_variables.variable
deploy_token = table_of(DeployToken)

MAX_COUNTED: Final = 100
"""Runners are told of so many waiting jobs and no more: the figure is for their metrics, and counting has a price."""


@dataclass(frozen=True, slots=True)
class HandOut:
    """Rows behind a job: the job itself, its pipeline, project and owner, and what jobs before it hand it.

    `dependencies` are archives, `dotenv` variables (`key` and `value` of each), the last one of a key counts.
    `running_elsewhere` counts the other jobs of its project that instance runners hold, `waiting` those that wait for
    the same runners as it did, up to `MAX_COUNTED`. `sealed` are the rows of all variables that may reach the project,
    with their levels; `ci_variables` the same opened, by whoever has the key. `ref_gone` says that the branch or tag
    was deleted since the pipeline was made, which is not in SQL: whoever has the repository looks. `environment_url`
    and `environment_tier` are those of the environment of the job, as they are now. `deploy_token` is the row of that
    which the jobs of the project are given, `deploy_variables` are what it says opened.
    """

    job: Any
    pipeline: Any
    project: Any
    user: Any
    dependencies: Sequence[Any]
    stage_status: str
    installation_id: str = ""
    running_elsewhere: int = 0
    waiting: int = 0
    environment_url: str = ""
    environment_tier: str = ""
    dotenv: Sequence[Mapping[str, str]] = ()
    sealed: Sequence[tuple[int, Any]] = ()
    ci_variables: Sequence[CiVariable] = ()
    ref_gone: bool = False
    deploy_token: Any = None
    deploy_variables: Sequence[JobVariable] = ()


_RUNNING_ELSEWHERE: Final = (
    select(func.count())
    .where(lease.c.load_of == job.c.project_id, lease.c.job_id != job.c.id)
    .correlate(job)
    .scalar_subquery()
)
_ALIKE: Final = select(waiting.c.job_id).where(waiting.c.demand_id == job.c.demand_id).correlate(job).limit(MAX_COUNTED)
_WAITING: Final = select(func.count()).select_from(_ALIKE.subquery()).scalar_subquery()
_DEPLOY_TOKEN: Final = (
    select(func.max(deploy_token.c.id))
    .where(deploy_token.c.project_id == job.c.project_id, deploy_token.c.sealed != "")
    .correlate(job)
    .scalar_subquery()
)
"""The newest one that jobs are given."""
_ANY_VARIABLES: Final = (
    exists().where(or_(ci_variable.c.project_id == job.c.project_id, ci_variable.c.project_id.is_(None))).correlate(job)
)
"""Most claims are of projects without: they pay for no further look."""
_AROUND: Final = (
    select(
        *(column.label(f"job_{column.name}") for column in job.c),
        *(column.label(f"pipeline_{column.name}") for column in pipeline.c),
        *(column.label(f"project_{column.name}") for column in project.c),
        *(column.label(f"user_{column.name}") for column in user.c),
        stage.c.status.label("stage_status"),
        select(installation.c.installation_id).scalar_subquery().label("installation_id"),
        _RUNNING_ELSEWHERE.label("running_elsewhere"),
        _WAITING.label("waiting"),
        _ANY_VARIABLES.label("any_variables"),
        environment.c.external_url.label("environment_url"),
        environment.c.tier.label("environment_tier"),
        _DEPLOY_TOKEN.label("deploy_token_id"),
    )
    .select_from(
        job.join(pipeline, pipeline.c.id == job.c.pipeline_id)
        .join(project, project.c.id == job.c.project_id)
        .join(user, user.c.id == job.c.user_id)
        .join(stage, stage.c.id == job.c.stage_id)
        .outerjoin(environment, environment.c.id == job.c.environment_id)
    )
    .where(job.c.id.in_(bindparam("b_jobs", expanding=True)))
    .order_by(stage.c.id)
    .with_for_update(of=stage, read=True, key_share=True)
)
"""The stages are held against decisions that fold them at this moment; claims do not wait for each other."""
_PARTS: Final = tuple(tuple(column.name for column in table.c) for table in (job, pipeline, project, user))

_ARCHIVES: Final = (
    select(job.c.id, job.c.name, artifact.c.filename, artifact.c.size, artifact.c.object_key, artifact.c.sha256)
    .add_columns(artifact.c.expire_at)
    .join(artifact, artifact.c.job_id == job.c.id)
    .where(job.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried, artifact.c.file_type == ARCHIVE)
    .order_by(job.c.stage_position, job.c.position)
)
_VARIABLES: Final = (
    select(report.c.entries)
    .join(job, job.c.id == report.c.job_id)
    .where(report.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried, report.c.kind == DOTENV)
    .order_by(job.c.stage_position, job.c.position)
)


def _by_choice(statement: Select[Any]) -> tuple[Select[Any], Select[Any]]:
    """Two statements: of the jobs with certain names, and of all jobs of earlier stages."""
    return (
        statement.where(job.c.name.in_(bindparam("b_names", expanding=True))),
        statement.where(job.c.stage_position < bindparam("b_stage")),
    )


_ARCHIVES_CHOSEN: Final = _by_choice(_ARCHIVES)
_VARIABLES_CHOSEN: Final = _by_choice(_VARIABLES)


async def read(connection: AsyncConnection, job_ids: Collection[int]) -> Mapping[int, HandOut]:
    """Everything that the payloads of these jobs are made of, by job id."""
    rows = (await connection.execute(_AROUND, {"b_jobs": padded(job_ids)})).all()
    wanted = {row.job_project_id for row in rows if row.any_variables}
    sealed = {project_id: await ci_variables.reaching(connection, project_id) for project_id in wanted}
    tokens = await _deploy_tokens(connection, {row.deploy_token_id for row in rows} - {None})
    made = [
        replace(
            await _hand_out(connection, row, sealed.get(row.job_project_id, ())),
            deploy_token=tokens.get(row.deploy_token_id),
        )
        for row in rows
    ]
    return {hand_out.job.id: hand_out for hand_out in made}


async def _deploy_tokens(connection: AsyncConnection, ids: Collection[int]) -> Mapping[int, Record]:
    """By their ids. Most claims are of projects that give their jobs none: they pay for no further look."""
    if not ids:
        return {}
    found = await connection.execute(select(deploy_token).where(deploy_token.c.id.in_(padded(ids))))
    return {row.id: row for row in found.all()}


async def _hand_out(connection: AsyncConnection, row: Record, sealed: Sequence[tuple[int, Record]]) -> HandOut:
    values = iter(row)
    parts = (SimpleNamespace(**{name: next(values) for name in names}) for names in _PARTS)
    of_job, of_pipeline, of_project, of_user = parts
    archives = await _chosen(connection, of_job, _ARCHIVES_CHOSEN)
    place = (row.environment_url or "", row.environment_tier or "")
    figures = (row.installation_id, row.running_elsewhere, row.waiting, *place)
    variables = await dotenv(connection, of_job)
    return HandOut(of_job, of_pipeline, of_project, of_user, archives, row.stage_status, *figures, variables, sealed)


async def dotenv(connection: AsyncConnection, job_row: Record) -> Sequence[Mapping[str, str]]:
    """The variables that jobs before this one hand it."""
    return [entry for row in await _chosen(connection, job_row, _VARIABLES_CHOSEN) for entry in row.entries]


async def _chosen(
    connection: AsyncConnection, job_row: Record, statements: tuple[Select[Any], Select[Any]]
) -> Sequence[Record]:
    """What a job gets of others: of its `dependencies`, else its needs, else all earlier stages."""
    plan, (of_names, of_earlier) = job_row.plan, statements
    names = plan.get("dependencies")
    if names is None and plan.get("needs") is not None:
        names = [need["job"] for need in plan["needs"] if need.get("artifacts", True)]
    if (names is not None and not names) or (names is None and not job_row.stage_position):
        return ()
    if names is None:
        found = await connection.execute(
            of_earlier, {"b_pipeline": job_row.pipeline_id, "b_stage": job_row.stage_position}
        )
    else:
        found = await connection.execute(of_names, {"b_pipeline": job_row.pipeline_id, "b_names": list(names)})
    rows: Sequence[Record] = found.all()
    return rows
