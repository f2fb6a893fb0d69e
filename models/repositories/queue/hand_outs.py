"""What a runner is told of a job: read in the transaction of the claim, so that a poison payload never leaves it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Result, Select, Table, bindparam, exists, false, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.variables.ci_variables import CiVariable
from domain.variables.job_variables import JobVariable
from models.columns import padded, table_of
from models.repositories.artifacts.artifacts import ARCHIVE, artifact
from models.repositories.artifacts.reports import DOTENV, report
from models.repositories.pipelines import pinned_steps
from models.repositories.pipelines.job_rows import job
from models.repositories.projects import ci_variables
from models.rows.accounts import UserRow
from models.rows.deploy_tokens import DeployTokenRow
from models.rows.pipelines import JobRow, PipelineRow
from models.rows.projects import ProjectRow
from models.rows.variables import CiVariableRow
from models.tables.accounts import User
from models.tables.deploy_tokens import DeployToken
from models.tables.environments import Environment
from models.tables.installation import Installation
from models.tables.pipelines import Pipeline, Stage
from models.tables.projects import Project
from models.tables.queue import Lease, QueueEntry
from models.typed_rows import all_of, reader

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
class Archive:
    """The archive of a job before this one: `id` and `name` are those of the job."""

    id: int
    name: str
    filename: str
    size: int
    object_key: str
    sha256: str
    expire_at: datetime | None


@dataclass(frozen=True, slots=True)
class HandOut:
    """Rows behind a job: the job itself, its pipeline, project and owner, and what jobs before it hand it.

    `dependencies` are archives, `dotenv` variables (`key` and `value` of each), the last one of a key counts.
    `running_elsewhere` counts the other jobs of its project that instance runners hold, `waiting` those that wait for
    the same runners as it did, up to `MAX_COUNTED`. `sealed` are the rows of all variables that may reach the project,
    with their levels; `ci_variables` the same opened, by whoever has the key. `ref_gone` says that the branch or tag
    was deleted since the pipeline was made, which is not in SQL: whoever has the repository looks. `environment_url`
    and `environment_tier` are those of the environment of the job, as they are now. `deploy_token` is the row of that
    which the jobs of the project are given, `deploy_variables` are what it says opened. `steps_resume` is the step at
    which the attempt begins, and what those before it gave; None for the first one.
    """

    job: JobRow
    pipeline: PipelineRow
    project: ProjectRow
    user: UserRow
    dependencies: Sequence[Archive]
    stage_status: str
    installation_id: str = ""
    running_elsewhere: int = 0
    waiting: int = 0
    environment_url: str = ""
    environment_tier: str = ""
    dotenv: Sequence[Mapping[str, str]] = ()
    sealed: Sequence[tuple[int, CiVariableRow]] = ()
    ci_variables: Sequence[CiVariable] = ()
    ref_gone: bool = False
    deploy_token: DeployTokenRow | None = None
    deploy_variables: Sequence[JobVariable] = ()
    steps_resume: Mapping[str, Any] | None = None


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
_PARTS: Final[Sequence[tuple[str, Table, type[Any]]]] = (
    ("job", job, JobRow),
    ("pipeline", pipeline, PipelineRow),
    ("project", project, ProjectRow),
    ("user", user, UserRow),
)
_NOT_ASKED: Final = "warned"
"""No pipeline has passed while a job of it is handed out."""
_WIDTHS: Final = tuple(len(fields(kind)) for _, _, kind in _PARTS)


def _columns_of_parts() -> list[ColumnElement[Any]]:
    """Those of each part one after the other, in the order of the fields of its row."""
    return [
        (false() if field.name == _NOT_ASKED else table.c[field.name]).label(f"{part}_{field.name}")
        for part, table, kind in _PARTS
        for field in fields(kind)
    ]


_AROUND: Final = (
    select(
        *_columns_of_parts(),
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


class _Parts(NamedTuple):
    """The rows of `_PARTS`."""

    job: JobRow
    pipeline: PipelineRow
    project: ProjectRow
    user: UserRow


@dataclass(frozen=True, slots=True)
class _Around:
    """The other columns of `_AROUND`."""

    stage_status: str
    installation_id: str
    running_elsewhere: int
    waiting: int
    any_variables: bool
    environment_url: str | None
    environment_tier: str | None
    deploy_token_id: int | None


async def read(connection: AsyncConnection, job_ids: Collection[int]) -> Mapping[int, HandOut]:
    """Everything that the payloads of these jobs are made of, by job id."""
    found = await connection.execute(_AROUND, {"b_jobs": padded(job_ids)})
    around = reader(_Around, found)
    rows = [(_parts(row), around(row)) for row in found.all()]
    wanted = {parts.project.id for parts, one in rows if one.any_variables}
    sealed = {project_id: await ci_variables.reaching(connection, project_id) for project_id in wanted}
    tokens = await _deploy_tokens(connection, {one.deploy_token_id for _, one in rows if one.deploy_token_id})
    return {
        parts.job.id: replace(
            await _hand_out(connection, parts, one, sealed.get(parts.project.id, ())),
            deploy_token=tokens.get(one.deploy_token_id or 0),
        )
        for parts, one in rows
    }


def _parts(row: Iterable[Any]) -> _Parts:
    values = iter(row)
    job_row, pipeline_row, project_row, user_row = (tuple(islice(values, width)) for width in _WIDTHS)
    return _Parts(JobRow(*job_row), PipelineRow(*pipeline_row), ProjectRow(*project_row), UserRow(*user_row))


async def _deploy_tokens(connection: AsyncConnection, ids: Collection[int]) -> Mapping[int, DeployTokenRow]:
    """By their ids. Most claims are of projects that give their jobs none: they pay for no further look."""
    if not ids:
        return {}
    found = await connection.execute(select(deploy_token).where(deploy_token.c.id.in_(padded(ids))))
    return {row.id: row for row in all_of(DeployTokenRow, found)}


async def _hand_out(
    connection: AsyncConnection, parts: _Parts, around: _Around, sealed: Sequence[tuple[int, CiVariableRow]]
) -> HandOut:
    archives = await _chosen(connection, parts.job, _ARCHIVES_CHOSEN)
    return HandOut(
        *parts,
        () if archives is None else all_of(Archive, archives),
        around.stage_status,
        installation_id=around.installation_id,
        running_elsewhere=around.running_elsewhere,
        waiting=around.waiting,
        environment_url=around.environment_url or "",
        environment_tier=around.environment_tier or "",
        dotenv=await dotenv(connection, parts.job),
        sealed=sealed,
        steps_resume=await pinned_steps.of_job(connection, parts.job.id) if parts.job.plan.get("run") else None,
    )


async def dotenv(connection: AsyncConnection, job_row: JobRow) -> Sequence[Mapping[str, str]]:
    """The variables that jobs before this one hand it."""
    found = await _chosen(connection, job_row, _VARIABLES_CHOSEN)
    return [] if found is None else [entry for entries in found.scalars() for entry in entries]


async def _chosen(
    connection: AsyncConnection, job_row: JobRow, statements: tuple[Select[Any], Select[Any]]
) -> Result[Any] | None:
    """What a job gets of others: of its `dependencies`, else its needs, else all earlier stages; None for nothing."""
    plan, (of_names, of_earlier) = job_row.plan, statements
    names = plan.get("dependencies")
    if names is None and plan.get("needs") is not None:
        names = [need["job"] for need in plan["needs"] if need.get("artifacts", True)]
    if (names is not None and not names) or (names is None and not job_row.stage_position):
        return None
    if names is None:
        earlier = {"b_pipeline": job_row.pipeline_id, "b_stage": job_row.stage_position}
        found: Result[Any] = await connection.execute(of_earlier, earlier)
    else:
        found = await connection.execute(of_names, {"b_pipeline": job_row.pipeline_id, "b_names": list(names)})
    return found
