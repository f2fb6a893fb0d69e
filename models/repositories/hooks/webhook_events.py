"""What happened to pipelines, jobs and repositories, noted for those who want to hear of it.

Each note is written in the transaction of what happened. Whether anybody wants it is a column of the project, which
the statements that change a status give back anyway (`WATCHED`): a project that nobody watches pays for nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol
from uuid import uuid4

from sqlalchemy import ColumnElement, bindparam, func, insert, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.hooks.webhooks import (
    BITS,
    DEPLOYMENT_STATUSES,
    MAILED,
    MAX_FAILURES,
    OFF,
    REPORTED,
    Event,
    HookScope,
    passes_branch_filter,
    wants,
)
from domain.notifications.occasions import Occasion
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.hooks import commit_reports
from models.repositories.namespaces.group_ancestry import lies_in, namespace
from models.repositories.notifications import notices
from models.repositories.notifications.notices import TOLD, Noticed
from models.rows.hooks import ChangedPipelineRow
from models.tables.environments import Deployment
from models.tables.hooks import Hook, HookDelivery, HookEvent
from models.tables.pipelines import Job, Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of, first_of, one_of

project = table_of(Project)
pipeline = table_of(Pipeline)
job = table_of(Job)
deployment = table_of(Deployment)
hook = table_of(Hook)
happening = table_of(HookEvent)
delivery = table_of(HookDelivery)

WATCHED: Final[ColumnElement[int]] = (
    select(project.c.watched).where(project.c.id == job.c.project_id).correlate(job).scalar_subquery().label("watched")
)
"""For a statement on jobs: what of the job's project is watched."""
OF_PIPELINE: Final[ColumnElement[int]] = (
    select(project.c.watched)
    .where(project.c.id == pipeline.c.project_id)
    .correlate(pipeline)
    .scalar_subquery()
    .label("watched")
)
"""The same for a statement on pipelines."""

_OF_JOBS: Final = BITS[Event.JOB] | BITS[Event.DEPLOYMENT]
_OF_PIPELINES: Final = BITS[Event.PIPELINE] | REPORTED


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that a hook may want to hear of; `branch` is that of a push.

    One without a project happened to the installation.
    """

    project_id: int | None
    kind: Event
    user_id: int | None = None
    pipeline_id: int | None = None
    job_id: int | None = None
    branch: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


_JOBS: Final = (
    select(
        job.c.id,
        job.c.project_id,
        job.c.pipeline_id,
        job.c.user_id,
        job.c.status,
        job.c.queued_at,
        job.c.started_at,
        job.c.finished_at,
        job.c.runner_id,
        job.c.failure_reason,
        job.c.allow_failure,
        job.c.environment_action,
        pipeline.c.status.label("pipeline_status"),
        pipeline.c.started_at.label("pipeline_started_at"),
        pipeline.c.finished_at.label("pipeline_finished_at"),
        pipeline.c.duration.label("pipeline_duration"),
        deployment.c.id.label("deployment_id"),
    )
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .outerjoin(deployment, deployment.c.job_id == job.c.id)
    .where(job.c.id.in_(bindparam("b_jobs", expanding=True)), ~job.c.bridge)
    .order_by(job.c.id)
)
_PIPELINE: Final = select(
    pipeline.c.id,
    pipeline.c.project_id,
    pipeline.c.user_id,
    pipeline.c.sha,
    pipeline.c.source,
    pipeline.c.status,
    pipeline.c.started_at,
    pipeline.c.finished_at,
    pipeline.c.duration,
).where(pipeline.c.id == bindparam("b_pipeline"))
_BUILDS: Final = (
    select(job.c.id, job.c.status)
    .where(job.c.pipeline_id == bindparam("b_pipeline"), ~job.c.retried, ~job.c.bridge)
    .order_by(job.c.id)
)
_MADE: Final = select(job.c.id).where(job.c.pipeline_id == bindparam("b_pipeline"), ~job.c.bridge).order_by(job.c.id)
_HEARER: Final = (hook.c.id, hook.c.events, hook.c.branch_filter, hook.c.branch_filter_strategy, hook.c.failures)
_HOOKS: Final = union_all(
    select(*_HEARER, hook.c.project_id.label("of_project")).where(
        hook.c.project_id.in_(bindparam("b_projects", expanding=True))
    ),
    select(*_HEARER, project.c.id.label("of_project"))
    .join_from(project, namespace, namespace.c.id == project.c.namespace_id)
    .join(hook, hook.c.scope != HookScope.PROJECT)
    .where(project.c.id.in_(bindparam("b_projects", expanding=True)))
    .where((hook.c.scope == HookScope.SYSTEM) | lies_in(hook.c.namespace_id)),
)
"""The hooks that hear of projects: their own, those of the groups that they lie in, those of the installation."""
_SYSTEM_HOOKS: Final = select(*_HEARER).where(hook.c.scope == HookScope.SYSTEM)


@dataclass(frozen=True, slots=True)
class _JobRow:
    """What is told of a job that has a new status."""

    id: int
    project_id: int
    pipeline_id: int
    user_id: int
    status: str
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    runner_id: int | None
    failure_reason: str
    allow_failure: bool
    environment_action: str
    pipeline_status: str
    pipeline_started_at: datetime | None
    pipeline_finished_at: datetime | None
    pipeline_duration: float | None
    deployment_id: int | None


@dataclass(frozen=True, slots=True)
class _HearerRow:
    """A hook, by what decides whether it hears of something."""

    id: int
    events: int
    branch_filter: str
    branch_filter_strategy: str
    failures: int


@dataclass(frozen=True, slots=True)
class _ProjectHearerRow(_HearerRow):
    """A hook that hears of a project, perhaps as one of many."""

    of_project: int


class ChangedJob(Protocol):
    """A job that has a new status, as the statement gives it back that has written it."""

    @property
    def id(self) -> int:
        """Which job."""

    @property
    def watched(self) -> int:
        """What of its project is watched."""

    @property
    def environment_action(self) -> str:
        """What it does with its environment; empty for a job that has none."""


def _heard(row: ChangedJob) -> int:
    """What of a job is to be heard; people are told of those that deploy alone."""
    return row.watched & (_OF_JOBS | TOLD if row.environment_action else _OF_JOBS)


async def jobs_changed(connection: AsyncConnection, rows: Iterable[ChangedJob], now: datetime) -> None:
    """Jobs have a new status."""
    watched = {row.id: row.watched for row in rows if _heard(row)}
    if not watched:
        return
    happened: list[Happening] = []
    noticed: list[Noticed] = []
    for row in all_of(_JobRow, await connection.execute(_JOBS, {"b_jobs": sorted(watched)})):
        if wants(watched[row.id], Event.JOB):
            happened.append(_of_job(row, Event.JOB))
        deploys = row.deployment_id is not None and row.status in DEPLOYMENT_STATUSES
        if deploys and wants(watched[row.id], Event.DEPLOYMENT):
            happened.append(_of_job(row, Event.DEPLOYMENT))
        noticed += _noticed(row, watched[row.id], deploys=deploys)
    await note(connection, happened, now)
    await notices.put(connection, noticed, now)


def _noticed(row: _JobRow, watched: int, *, deploys: bool) -> list[Noticed]:
    """What people may be told of a job: of its deployment, or that it waits for somebody who may deploy."""
    kind, hearers = Occasion.DEPLOYMENT_WAITING, MAILED
    if deploys:
        kind, hearers = notices.OF_DEPLOYMENTS[row.status]
    elif row.status != Status.MANUAL or not row.environment_action:
        return []
    if not watched & hearers:
        return []
    facts = {"status": row.status, "failure_reason": row.failure_reason, "allow_failure": row.allow_failure}
    return [Noticed(row.project_id, kind, row.user_id, row.pipeline_id, row.id, facts=facts)]


def _of_job(row: _JobRow, kind: Event) -> Happening:
    facts = _facts_of_job(row)
    if kind is Event.DEPLOYMENT:
        facts["deployment_id"] = row.deployment_id
    return Happening(row.project_id, kind, row.user_id, row.pipeline_id, row.id, facts=facts)


async def pipeline_changed(
    connection: AsyncConnection, pipeline_id: int, watched: int, status: str, now: datetime
) -> None:
    """A pipeline has a new status."""
    if watched & TOLD and status in notices.ENDS:
        await notices.pipeline_ended(connection, pipeline_id, Status(status), now)
    if not watched & _OF_PIPELINES:
        return
    row = one_of(ChangedPipelineRow, await connection.execute(_PIPELINE, {"b_pipeline": pipeline_id}))
    if watched & REPORTED:
        await commit_reports.want(connection, row, now)
    if wants(watched, Event.PIPELINE):
        await note(connection, [await _of_pipeline(connection, row)], now)


def is_status_heard(watched: int, status: str) -> bool:
    """Whether anybody hears of a pipeline that has this status now."""
    return bool(watched & ~TOLD) or (bool(watched) and status in notices.ENDS)


async def _of_pipeline(connection: AsyncConnection, row: ChangedPipelineRow) -> Happening:
    builds: dict[str, list[int]] = {}
    for job_id, status in await connection.execute(_BUILDS, {"b_pipeline": row.id}):
        builds.setdefault(status, []).append(job_id)
    facts: dict[str, Any] = {"status": row.status, **_moments(row, "started_at", "finished_at"), "builds": builds}
    if row.duration is not None:
        facts["duration"] = row.duration
    return Happening(row.project_id, Event.PIPELINE, row.user_id, row.id, facts=facts)


async def pipeline_made(
    connection: AsyncConnection, pipeline_id: int, watched: int, status: str, now: datetime
) -> None:
    """A pipeline is there, with its jobs."""
    await pipeline_changed(connection, pipeline_id, watched, status, now)
    if watched & _OF_JOBS:
        ids = (await connection.execute(_MADE, {"b_pipeline": pipeline_id})).scalars().all()
        await jobs_made(connection, ids, watched, now)


async def jobs_made(
    connection: AsyncConnection, ids: Iterable[int], watched: int, now: datetime, *, environment_action: str = ""
) -> None:
    """Jobs are there, or one that a runner has taken, with what it does with its environment."""
    await jobs_changed(connection, [_Made(job_id, watched, environment_action) for job_id in ids], now)


def is_claim_heard(watched: int, environment_action: str) -> bool:
    """Whether anybody hears that a job of a project has been taken, or that its pipeline runs."""
    return bool(watched & (~MAILED if environment_action else ~TOLD))


@dataclass(frozen=True, slots=True)
class _Made:
    id: int
    watched: int
    environment_action: str


async def sample(connection: AsyncConnection, project_id: int, kind: Event) -> Happening | None:
    """What a hook would be told of the newest pipeline, job or deployment of a project; None where there is none."""
    if kind is Event.PIPELINE:
        newest = select(func.max(pipeline.c.id)).where(pipeline.c.project_id == project_id)
        top = (await connection.execute(newest)).scalar()
        last = first_of(ChangedPipelineRow, await connection.execute(_PIPELINE, {"b_pipeline": top}))
        return None if last is None else await _of_pipeline(connection, last)
    newest = select(func.max(job.c.id)).where(job.c.project_id == project_id, ~job.c.bridge)
    if kind is Event.DEPLOYMENT:
        newest = select(func.max(deployment.c.job_id)).where(deployment.c.project_id == project_id)
    found = (await connection.execute(newest)).scalar()
    row = None if found is None else first_of(_JobRow, await connection.execute(_JOBS, {"b_jobs": [found]}))
    return None if row is None else _of_job(row, kind)


async def watched(connection: AsyncConnection, project_id: int) -> int:
    """What of a project is watched."""
    found = await connection.execute(select(project.c.watched).where(project.c.id == project_id))
    return int(found.scalar() or 0)


async def add(connection: AsyncConnection, happened: Happening, now: datetime) -> int:
    """Write an event that no hook hears of yet."""
    statement = insert(happening).values(**_row_of(happened, now)).returning(happening.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    return made


async def note(connection: AsyncConnection, happened: Sequence[Happening], now: datetime) -> None:
    """Write down what happened, with a delivery for each hook that wants it."""
    if not happened:
        return
    found = await connection.execute(_HOOKS, {"b_projects": sorted({one.project_id or 0 for one in happened})})
    rows = sorted(all_of(_ProjectHearerRow, found), key=lambda row: row.id)
    await _write(connection, [(one, [row for row in rows if _hears(row, one)]) for one in happened], now)


async def system_listens(connection: AsyncConnection) -> bool:
    """Whether there is any system hook."""
    return (await connection.execute(_SYSTEM_HOOKS.limit(1))).first() is not None


async def note_system(connection: AsyncConnection, happened: Happening, now: datetime) -> None:
    """Write down what happened to the installation, with a delivery for each system hook."""
    rows = all_of(_HearerRow, await connection.execute(_SYSTEM_HOOKS.order_by(hook.c.id)))
    await _write(connection, [(happened, rows)], now)


async def _write(
    connection: AsyncConnection, heard: Iterable[tuple[Happening, Sequence[_HearerRow]]], now: datetime
) -> None:
    """Write events, each with deliveries to those who hear of it; one that nobody hears of is not written."""
    told = [(one, mine) for one, mine in heard if mine]
    if not told:
        return
    added = insert(happening).returning(happening.c.id, sort_by_parameter_order=True)
    ids = (await connection.execute(added, [_row_of(one, now) for one, _ in told])).scalars().all()
    rows = [
        delivery_of(row.id, event_id, now, is_off=row.failures > MAX_FAILURES)
        for event_id, (_, mine) in zip(ids, told, strict=True)
        for row in mine
    ]
    await connection.execute(insert(delivery), rows)


def _hears(row: _ProjectHearerRow, happened: Happening) -> bool:
    if row.of_project != happened.project_id or not wants(row.events, happened.kind):
        return False
    if happened.kind is not Event.PUSH:
        return True
    return passes_branch_filter(row.branch_filter_strategy, row.branch_filter, happened.branch)


def _row_of(happened: Happening, now: datetime) -> dict[str, Any]:
    return {
        "project_id": happened.project_id,
        "kind": str(happened.kind),
        "uuid": str(uuid4()),
        "user_id": happened.user_id,
        "pipeline_id": happened.pipeline_id,
        "job_id": happened.job_id,
        "facts": dict(happened.facts),
        "created_at": now,
    }


def delivery_of(
    hook_id: int, event_id: int, now: datetime, *, is_off: bool = False, single: bool = False
) -> dict[str, Any]:
    """A row of a new delivery. Of a hook that is switched off for good it has failed before it began."""
    return {
        "hook_id": hook_id,
        "event_id": event_id,
        "uuid": str(uuid4()),
        "state": "failed" if is_off else "open",
        "single": single,
        "attempts": 0,
        "due_at": now,
        "body": "",
        "request_headers": {},
        "response_headers": {},
        "response_body": "",
        "duration": 0.0,
        "error": OFF if is_off else "",
        "tries": [],
        "created_at": now,
    }


def _facts_of_job(row: _JobRow) -> dict[str, Any]:
    plain = ("status", "runner_id", "failure_reason", "allow_failure", "pipeline_status", "pipeline_duration")
    moments = ("queued_at", "started_at", "finished_at", "pipeline_started_at", "pipeline_finished_at")
    return {name: getattr(row, name) for name in plain} | _moments(row, *moments)


def _moments(row: _JobRow | ChangedPipelineRow, *names: str) -> dict[str, str | None]:
    found = {name: getattr(row, name) for name in names}
    return {name: None if value is None else value.isoformat() for name, value in found.items()}
