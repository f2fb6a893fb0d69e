"""Deployments that no job made: somebody reports them, and how they go.

Source of the rules: GitLab: "Deployments API", and its services for deployments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.deployments import forbidden, sources_of
from domain.errors import Invalid
from domain.hooks.webhooks import Event, wants
from domain.notifications.occasions import Occasion
from domain.pipelines.status import Status
from models.repositories.environments import deployment_listings, deployments, environments
from models.repositories.environments.deployments import deployment, environment
from models.repositories.environments.environments import AVAILABLE
from models.repositories.hooks import webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.notifications import notices
from models.repositories.notifications.notices import Noticed
from models.rows.environments import DeploymentRow
from models.typed_rows import all_of


@dataclass(frozen=True, slots=True)
class Report:
    """A deployment as it is reported. `title` is that of its commit, for those who want to hear of it."""

    project_id: int
    user_id: int
    ref: str
    tag: bool
    sha: str
    status: Status
    title: str = ""


async def take(connection: AsyncConnection, environment_id: int, report: Report, now: datetime) -> int:
    """Keep a deployment; its id. One that is the same as the last successful one of its environment is that one."""
    last = (await deployment_listings.latest_successful(connection, [environment_id])).get(environment_id)
    told = (report.ref, report.tag, report.sha, report.status)
    if last is not None and (last.ref, last.tag, last.sha, Status(last.status)) == told:
        return last.id
    values = {
        "iid": await deployments.take_numbers(connection, report.project_id),
        "project_id": report.project_id,
        "environment_id": environment_id,
        "user_id": report.user_id,
        "ref": report.ref,
        "tag": report.tag,
        "sha": report.sha,
        "created_at": now,
        **_settled(report.status, now),
    }
    statement = insert(deployment).values(**values).returning(deployment.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    await _follow(connection, made, report.project_id, report.title, now)
    return made


async def change(connection: AsyncConnection, row: DeploymentRow, to: Status, title: str, now: datetime) -> None:
    """Write how a deployment (`row` of `deployment_listings`) goes now. Raises `FieldsInvalid` if it cannot go so."""
    statement = (
        update(deployment)
        .where(
            deployment.c.id == row.id, deployment.c.job_id.is_(None), deployment.c.status.in_(sorted(sources_of(to)))
        )
        .values(**_settled(to, now))
    )
    if not (await connection.execute(statement)).rowcount:
        raise forbidden(to)
    await _follow(connection, row.id, row.project_id, title, now)


def _settled(status: Status, now: datetime) -> dict[str, Any]:
    """The columns that follow from a status."""
    return {"status": str(status), "updated_at": now, "finished_at": None if status is Status.RUNNING else now}


async def remove(connection: AsyncConnection, row: DeploymentRow) -> None:
    """Remove a deployment (`row` of `deployment_listings`). Raises `Invalid` for one that runs or is current."""
    if Status(row.status) is Status.RUNNING:
        raise Invalid("Cannot destroy running deployment")
    last = (await deployment_listings.latest_successful(connection, [row.environment_id])).get(row.environment_id)
    if last is not None and last.id == row.id:
        raise Invalid("Deployment currently deployed to environment")
    await connection.execute(delete(deployment).where(deployment.c.id == row.id, deployment.c.job_id.is_(None)))


async def _follow(connection: AsyncConnection, deployment_id: int, project_id: int, title: str, now: datetime) -> None:
    """What the new status of a deployment means: a success makes its environment available; hooks hear of each."""
    (row,) = await _told(connection, deployment.c.id == deployment_id)
    if row.status == Status.SUCCESS:
        await environments.move(connection, [row.environment_id], AVAILABLE, now)
    watched = await webhook_events.watched(connection, project_id)
    if wants(watched, Event.DEPLOYMENT):
        await webhook_events.note(connection, [happening_of(row, title)], now)
    kind, hearers = notices.OF_DEPLOYMENTS.get(row.status, (None, 0))
    if kind is not None and watched & hearers:
        await notices.put(connection, [_noticed(row, kind)], now)


def _noticed(row: "ToldDeploymentRow", kind: Occasion) -> Noticed:
    """What people may be told of a deployment that no job made."""
    names = ("environment", "environment_id", "ref", "tag", "sha")
    return Noticed(row.project_id, kind, row.user_id, facts={name: getattr(row, name) for name in names})


@dataclass(frozen=True, slots=True)
class ToldDeploymentRow(DeploymentRow):
    """A deployment, with what hooks are told of its environment."""

    environment: str
    environment_tier: str
    environment_slug: str
    environment_external_url: str


async def newest(connection: AsyncConnection, project_id: int) -> ToldDeploymentRow | None:
    """The newest deployment of a project, if no job made it; None if there is none, or if a job did."""
    newest_id = select(func.max(deployment.c.id)).where(deployment.c.project_id == project_id).correlate(None)
    found = await _told(connection, deployment.c.id == newest_id.scalar_subquery(), deployment.c.job_id.is_(None))
    return found[0] if found else None


async def _told(connection: AsyncConnection, *which: ColumnElement[bool]) -> Sequence[ToldDeploymentRow]:
    """Deployments with what a hook is told of their environments."""
    columns = (
        environment.c.name.label("environment"),
        environment.c.tier.label("environment_tier"),
        environment.c.slug.label("environment_slug"),
        environment.c.external_url.label("environment_external_url"),
    )
    joined = select(deployment, *columns).join(environment, environment.c.id == deployment.c.environment_id)
    return all_of(ToldDeploymentRow, await connection.execute(joined.where(*which)))


_FACTS = ("status", "ref", "sha", "environment", "environment_tier", "environment_slug", "environment_external_url")


def happening_of(row: ToldDeploymentRow, title: str) -> Happening:
    """What hooks are told of a deployment (`newest`); `title` is that of its commit."""
    facts = {name: getattr(row, name) for name in _FACTS}
    facts |= {"deployment_id": row.id, "commit_title": title}
    return Happening(row.project_id, Event.DEPLOYMENT, row.user_id, facts=facts)
