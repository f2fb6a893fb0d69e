"""Deployments: made when a job that deploys is first enqueued; from then on the job's row says how it goes.

Those that no job made (`reported_deployments`) say it themselves; whoever reads status and times here
gets those of both kinds.

Source: docs/reference/pipelines.md, "Environments".
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from sqlalchemy import and_, bindparam, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.places import START, Place, seconds_of
from domain.pipelines.status import Status
from domain.pipelines.verdict import NO_ENVIRONMENT, OUTDATED
from domain.variables.environment_variables import environment_slug, guessed_tier
from models.columns import table_of
from models.repositories.environments import environments
from models.repositories.pipelines.job_rows import job
from models.tables.environments import Deployment, Environment
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of

deployment = table_of(Deployment)
environment = table_of(Environment)
pipeline = table_of(Pipeline)
project = table_of(Project)

_TO_OPEN: Final = (
    select(
        job.c.id,
        job.c.project_id,
        job.c.pipeline_id,
        job.c.user_id,
        job.c.environment_id,
        job.c.plan["environment"].label("written"),
        pipeline.c.ref,
        pipeline.c.tag,
        pipeline.c.sha,
    )
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .outerjoin(deployment, deployment.c.job_id == job.c.id)
    .where(
        job.c.id.in_(bindparam("b_jobs", expanding=True)),
        job.c.environment_action == START,
        deployment.c.id.is_(None),
    )
    .order_by(job.c.id)
)
_COUNT: Final = (
    update(project)
    .where(project.c.id == bindparam("b_project"))
    .values(deployment_count=project.c.deployment_count + bindparam("b_more"))
    .returning(project.c.deployment_count)
)
_NEWER_SUCCESS: Final = (
    select(deployment.c.id)
    .outerjoin(job, job.c.id == deployment.c.job_id)
    .join(project, project.c.id == deployment.c.project_id)
    .where(
        deployment.c.environment_id == bindparam("b_environment"),
        or_(
            and_(job.c.id > bindparam("b_job"), job.c.status == Status.SUCCESS),
            and_(
                deployment.c.job_id.is_(None),
                deployment.c.status == Status.SUCCESS,
                deployment.c.created_at > bindparam("b_made"),
            ),
        ),
        project.c.forward_deployment,
        deployment.c.sha != select(pipeline.c.sha).where(pipeline.c.id == bindparam("b_pipeline")).scalar_subquery(),
    )
    .limit(1)
)


_of_environment = deployment.alias("of_environment")
_its_job = job.alias("its_job")
NEWEST_SUCCESS: Final = (
    select(_of_environment.c.id)
    .outerjoin(_its_job, _its_job.c.id == _of_environment.c.job_id)
    .where(
        _of_environment.c.environment_id == environment.c.id,
        func.coalesce(_its_job.c.status, _of_environment.c.status) == Status.SUCCESS,
    )
    .order_by(_of_environment.c.id.desc())
    .limit(1)
    .correlate(environment)
    .scalar_subquery()
)
"""The id of the newest successful deployment of each row of table `environment` in the statement around."""


@dataclass(frozen=True, slots=True)
class _JobRow:
    """A job that has no deployment yet: what is `written` of its environment, and what its pipeline is for."""

    id: int
    project_id: int
    pipeline_id: int
    user_id: int
    environment_id: int | None
    written: Mapping[str, Any]
    ref: str
    tag: bool
    sha: str


async def open_missing(connection: AsyncConnection, job_ids: Sequence[int], now: datetime) -> None:
    """Make the deployments of those of the jobs that deploy and have none: they have just been enqueued.

    One query where none of them deploys. Doing it again changes nothing. An environment that was deleted since the
    pipeline was made is made again.
    """
    if not job_ids:
        return
    rows = all_of(_JobRow, await connection.execute(_TO_OPEN, {"b_jobs": sorted(job_ids)}))
    by_project: defaultdict[int, list[_JobRow]] = defaultdict(list)
    for row in rows:
        if row.environment_id is not None or row.written["name"]:
            by_project[row.project_id].append(row)
    for project_id, mine in sorted(by_project.items()):
        made_again = await _restore(connection, project_id, [row for row in mine if row.environment_id is None], now)
        first = await take_numbers(connection, project_id, len(mine))
        values = [_values(row, first + place, made_again, now) for place, row in enumerate(mine)]
        await connection.execute(insert(deployment), values)


async def take_numbers(connection: AsyncConnection, project_id: int, count: int = 1) -> int:
    """The first of so many numbers (`iid`) for new deployments of a project."""
    counted = await connection.execute(_COUNT, {"b_project": project_id, "b_more": count})
    return int(counted.scalar_one()) - count + 1


async def _restore(
    connection: AsyncConnection, project_id: int, rows: Sequence[_JobRow], now: datetime
) -> dict[int, int]:
    """Environments of jobs whose own was deleted, by job."""
    if not rows:
        return {}
    places = {row.id: _place_again(row.written) for row in rows}
    ids = await environments.ensure(connection, project_id, places.values(), now)
    for row in rows:
        statement = update(job).where(job.c.id == row.id).values(environment_id=ids[places[row.id].environment])
        await connection.execute(statement)
    return {row.id: ids[places[row.id].environment] for row in rows}


def _place_again(written: Mapping[str, Any]) -> Place:
    name = written["name"]
    return Place(name, tier=written.get("deployment_tier") or guessed_tier(name), slug=environment_slug(name))


def _values(row: _JobRow, iid: int, made_again: Mapping[int, int], now: datetime) -> dict[str, Any]:
    return {
        "iid": iid,
        "project_id": row.project_id,
        "environment_id": made_again.get(row.id, row.environment_id),
        "job_id": row.id,
        "pipeline_id": row.pipeline_id,
        "user_id": row.user_id,
        "ref": row.ref,
        "tag": row.tag,
        "sha": row.sha,
        "on_stop": row.written.get("on_stop", ""),
        "auto_stop_in": seconds_of(row.written.get("auto_stop_in", "")),
        "created_at": now,
    }


class DeployingJob(Protocol):
    """A job that is about to deploy."""

    @property
    def id(self) -> int:
        """Which job."""

    @property
    def pipeline_id(self) -> int:
        """The pipeline whose commit it deploys."""

    @property
    def environment_id(self) -> int | None:
        """Where to; None where it names no environment that there could be."""

    @property
    def created_at(self) -> datetime:
        """When it was made."""


async def objection(connection: AsyncConnection, row: DeployingJob) -> str:
    """Why a job that is about to deploy must fail instead, as a failure reason; empty if it may.

    Its environment has no valid name, or a newer deployment of it has succeeded. Jobs are compared in the order in
    which they were made, so that it also holds for one that is enqueued after the newer one has deployed; a retry is a
    new job, so a retried deployment may go back on purpose. A deployment that no job made is newer than the jobs that
    were there before it. The same commit is never outdated, and the project may have this switched off.
    """
    if row.environment_id is None:
        return NO_ENVIRONMENT
    asked: dict[str, Any] = {"b_environment": row.environment_id, "b_job": row.id, "b_pipeline": row.pipeline_id}
    asked["b_made"] = row.created_at
    return OUTDATED if (await connection.execute(_NEWER_SUCCESS, asked)).first() is not None else ""
