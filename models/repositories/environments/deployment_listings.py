"""Deployments as people read them: those of jobs have the status and the times of their job, others have their own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.places import START
from domain.errors import NotFound
from domain.pipelines.status import Status
from models.repositories.environments.deployments import NEWEST_SUCCESS, deployment, environment
from models.repositories.paging import Listing
from models.repositories.pipelines.job_rows import job
from models.rows.environments import DeploymentRow
from models.typed_rows import all_of, first_of

STATUSES: Final[Mapping[Status, str]] = {
    Status.CREATED: "created",
    Status.WAITING_FOR_RESOURCE: "created",
    Status.PREPARING: "created",
    Status.PENDING: "created",
    Status.SCHEDULED: "created",
    Status.MANUAL: "blocked",
    Status.RUNNING: "running",
    Status.CANCELING: "running",
    Status.SUCCESS: "success",
    Status.FAILED: "failed",
    Status.CANCELED: "canceled",
    Status.SKIPPED: "skipped",
}
"""The status of a deployment, by that of its job or its own."""

_STATUS: Final = func.coalesce(job.c.status, deployment.c.status)
_FINISHED: Final = func.coalesce(job.c.finished_at, deployment.c.finished_at)
_UPDATED: Final = func.coalesce(
    job.c.finished_at, job.c.started_at, job.c.queued_at, deployment.c.updated_at, deployment.c.created_at
)
_SETTLED: Final = {"status": _STATUS, "updated_at": _UPDATED, "finished_at": _FINISHED}
"""Columns whose value may be the job's."""
_COLUMNS: Final = tuple(
    _SETTLED[column.name].label(column.name) if column.name in _SETTLED else column for column in deployment.c
)
ORDERS: Final[Mapping[str, Any]] = {
    **{name: deployment.c[name] for name in ("id", "iid", "created_at", "ref")},
    "updated_at": _UPDATED,
    "finished_at": _FINISHED,
}
"""What a list of deployments may be ordered by."""


@dataclass(frozen=True, slots=True)
class DeploymentFilter:
    """Which deployments of a project; empty fields do not narrow."""

    environment: str = ""
    status: str = ""
    updated_after: datetime | None = None
    updated_before: datetime | None = None
    finished_after: datetime | None = None
    finished_before: datetime | None = None
    order_by: str = "id"
    ascending: bool = True


def _shown() -> Select[Any]:
    """Deployments (columns of `Deployment`) with their status, when that changed last, and when they ended."""
    return select(*_COLUMNS).outerjoin_from(deployment, job, job.c.id == deployment.c.job_id)


def of_project(project_id: int, wanted: DeploymentFilter) -> Listing[DeploymentRow]:
    """Statement for the deployments of a project."""
    statement = _shown().where(deployment.c.project_id == project_id)
    if wanted.environment:
        named = select(environment.c.id).where(
            environment.c.project_id == project_id, environment.c.name == wanted.environment
        )
        statement = statement.where(deployment.c.environment_id.in_(named))
    if wanted.status:
        statuses = [str(status) for status, shown in STATUSES.items() if shown == wanted.status]
        statement = statement.where(_STATUS.in_(statuses))
    for column, after, before in (
        (_UPDATED, wanted.updated_after, wanted.updated_before),
        (_FINISHED, wanted.finished_after, wanted.finished_before),
    ):
        statement = statement if after is None else statement.where(column >= after)
        statement = statement if before is None else statement.where(column <= before)
    column = ORDERS[wanted.order_by]
    ways = (column.asc(), deployment.c.id.asc()) if wanted.ascending else (column.desc(), deployment.c.id.desc())
    return Listing(statement.order_by(*ways), DeploymentRow)


async def get(connection: AsyncConnection, deployment_id: int, project_id: int) -> DeploymentRow:
    """One deployment of a project. Raises `NotFound`."""
    statement = _shown().where(deployment.c.id == deployment_id, deployment.c.project_id == project_id)
    row = first_of(DeploymentRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Deployment Not Found")
    return row


async def of_job(connection: AsyncConnection, job_id: int) -> DeploymentRow | None:
    """The deployment that a job makes or made, if it is one that does."""
    statement = _shown().where(deployment.c.job_id == job_id)
    return first_of(DeploymentRow, await connection.execute(statement))


async def latest_successful(connection: AsyncConnection, environment_ids: Iterable[int]) -> dict[int, DeploymentRow]:
    """The newest successful deployment of each environment that has one, by environment."""
    ids = sorted(environment_ids)
    newest = select(NEWEST_SUCCESS).where(environment.c.id.in_(ids))
    statement = _shown().where(deployment.c.id.in_(newest), deployment.c.environment_id.in_(ids))
    rows = all_of(DeploymentRow, await connection.execute(statement))
    return {row.environment_id: row for row in rows}


async def newest(connection: AsyncConnection, environment_ids: Iterable[int]) -> dict[int, DeploymentRow]:
    """The newest deployment of each environment that has one, however it goes, by environment."""
    of_each = (
        select(func.max(deployment.c.id))
        .where(deployment.c.environment_id.in_(sorted(environment_ids)))
        .group_by(deployment.c.environment_id)
    )
    rows = all_of(DeploymentRow, await connection.execute(_shown().where(deployment.c.id.in_(of_each))))
    return {row.environment_id: row for row in rows}


def of_environment(environment_id: int) -> Listing[DeploymentRow]:
    """Statement for the deployments of an environment, the newest first."""
    statement = _shown().where(deployment.c.environment_id == environment_id)
    return Listing(statement.order_by(deployment.c.id.desc()), DeploymentRow)


_ASKED: Final = (
    select(job.c.id)
    .where(
        job.c.environment_id == environment.c.id,
        job.c.status.in_((Status.MANUAL.value, Status.SCHEDULED.value)),
        job.c.environment_action == START,
        ~job.c.retried,
    )
    .order_by(job.c.id.desc())
    .limit(1)
    .correlate(environment)
    .scalar_subquery()
)
"""The newest job that deploys to each row of table `environment` when somebody, or the time, lets it."""


async def waiting_jobs(connection: AsyncConnection, environment_ids: Iterable[int]) -> dict[int, int]:
    """The newest job of each environment that will deploy when somebody plays it, or when its time has come."""
    statement = select(environment.c.id, _ASKED).where(environment.c.id.in_(sorted(environment_ids)))
    return {row[0]: row[1] for row in await connection.execute(statement) if row[1] is not None}
