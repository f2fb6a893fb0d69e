"""Removing pipelines with all their rows: one by hand, or those that are older than a policy wants them.

A policy never takes a pipeline that has not ended, nor one of a family that has not; none that a release was made by or
for, none that an environment was deployed by last, and none that the project keeps as the latest of its ref.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD
from domain.pipelines.status import COMPLETE, Status
from models.columns import table_of
from models.repositories import row_removal
from models.repositories.artifacts import job_objects
from models.repositories.pipelines.job_rows import job, lock
from models.tables.environments import Deployment, Environment, Release
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of

deployment = table_of(Deployment)
environment = table_of(Environment)
pipeline = table_of(Pipeline)
project = table_of(Project)
release = table_of(Release)

_ENDED: Final = pipeline.c.status.in_(sorted(COMPLETE))


@dataclass(frozen=True, slots=True)
class Policy:
    """When the pipelines of project `id` go: `seconds` after their end, perhaps but for the latest of each ref."""

    id: int
    keep_latest_artifacts: bool
    seconds: int


@dataclass(frozen=True, slots=True)
class DuePipeline:
    """A pipeline whose time is over; one that `is_latest` stays for as long as its ref is there."""

    id: int
    ref: str
    tag: bool
    is_latest: bool


async def with_policy(connection: AsyncConnection, default: float) -> Sequence[Policy]:
    """The policies of all projects whose old pipelines go."""
    seconds = func.coalesce(project.c.ci_delete_pipelines_in_seconds, int(default))
    statement = select(project.c.id, project.c.keep_latest_artifacts, seconds.label("seconds")).where(seconds > 0)
    return all_of(Policy, await connection.execute(statement.order_by(project.c.id)))


async def due(connection: AsyncConnection, of: Policy, now: datetime, after: int, limit: int) -> Sequence[DuePipeline]:
    """Pipelines of a project whose time is over: the first `limit` after an id."""
    statement = _due(of, now).where(pipeline.c.id > after).order_by(pipeline.c.id).limit(limit)
    return all_of(DuePipeline, await connection.execute(statement))


def _due(of: Policy, now: datetime) -> Select[Any]:
    ended = func.coalesce(pipeline.c.finished_at, pipeline.c.created_at)
    is_latest = _is_latest() if of.keep_latest_artifacts else pipeline.c.id < 0
    return select(pipeline.c.id, pipeline.c.ref, pipeline.c.tag, is_latest.label("is_latest")).where(
        pipeline.c.project_id == of.id,
        _ENDED,
        ended < now - timedelta(seconds=of.seconds),
        ~_has_open_family(),
        ~_is_released(),
        ~_is_deployed(),
    )


def _has_open_family() -> ColumnElement[bool]:
    """Whether a pipeline that it belongs to, or that belongs to it, has not ended."""
    other = pipeline.alias("other")
    root = func.coalesce(pipeline.c.root_id, pipeline.c.id)
    near = or_(
        other.c.root_id == root,
        other.c.id == root,
        other.c.id == pipeline.c.upstream_id,
        other.c.upstream_id == pipeline.c.id,
    )
    return exists().where(near, other.c.status.not_in(sorted(COMPLETE)))


def _is_released() -> ColumnElement[bool]:
    made = exists().where(release.c.job_id == job.c.id, job.c.pipeline_id == pipeline.c.id)
    of_tag = exists().where(release.c.project_id == pipeline.c.project_id, release.c.tag == pipeline.c.ref)
    return or_(made, and_(pipeline.c.tag, of_tag))


def _is_deployed() -> ColumnElement[bool]:
    """Whether one of its jobs is the latest successful deployment of an environment that is not stopped.

    A deployment that no job made may be later.
    """
    later, its_job = deployment.alias("later"), job.alias("its_job")
    is_later = exists().where(
        later.c.environment_id == deployment.c.environment_id,
        later.c.id > deployment.c.id,
        or_(
            later.c.status == Status.SUCCESS,
            exists().where(its_job.c.id == later.c.job_id, its_job.c.status == Status.SUCCESS),
        ),
    )
    return exists().where(
        deployment.c.pipeline_id == pipeline.c.id,
        job.c.id == deployment.c.job_id,
        job.c.status == Status.SUCCESS,
        environment.c.id == deployment.c.environment_id,
        environment.c.state != "stopped",
        ~is_later,
    )


def _is_latest() -> ColumnElement[bool]:
    """Whether it is the latest successful pipeline of its ref, or the latest of all."""
    newer = pipeline.alias("newer")
    same = and_(
        newer.c.project_id == pipeline.c.project_id,
        newer.c.ref == pipeline.c.ref,
        newer.c.tag == pipeline.c.tag,
        newer.c.source != CHILD,
        newer.c.id > pipeline.c.id,
    )
    has_newer_success = exists().where(same, newer.c.status == Status.SUCCESS)
    return and_(~has_newer_success, or_(pipeline.c.status == Status.SUCCESS, ~exists().where(same)))


async def remove_due(connection: AsyncConnection, of: Policy, ids: Collection[int], now: datetime) -> list[int]:
    """Remove those of these pipelines whose time is over, by now, and which no other process removes; their ids."""
    await lock_jobs(connection, ids)
    statement = _due(of, now).where(pipeline.c.id.in_(ids)).order_by(pipeline.c.id)
    rows = (await connection.execute(statement.with_for_update(of=pipeline, skip_locked=True))).all()
    return await remove(connection, [row.id for row in rows])


async def remove_ended(connection: AsyncConnection, pipeline_id: int) -> bool:
    """Remove one pipeline if it has ended; whether it is gone."""
    await lock_jobs(connection, [pipeline_id])
    statement = select(pipeline.c.id).where(pipeline.c.id == pipeline_id, _ENDED).with_for_update()
    return bool(await remove(connection, (await connection.execute(statement)).scalars().all()))


async def existing(connection: AsyncConnection, ids: Collection[int]) -> set[int]:
    """Those of these pipelines that there are."""
    return set((await connection.execute(select(pipeline.c.id).where(pipeline.c.id.in_(ids)))).scalars())


async def lock_jobs(connection: AsyncConnection, ids: Collection[int]) -> None:
    """Lock the jobs of pipelines, before these: whoever records a decision has its jobs before its pipeline."""
    found = await connection.execute(select(job.c.id).where(job.c.pipeline_id.in_(ids)))
    await lock(connection, found.scalars().all())


async def remove_jobs(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Remove jobs whatever their state, of pipelines that are to go."""
    await job_objects.doom(connection, job.c.id.in_(ids))
    await row_removal.remove(connection, row_removal.rules_of(job, job.c.id.in_(ids)))


async def remove(connection: AsyncConnection, ids: Sequence[int]) -> list[int]:
    """Remove pipelines whatever their state, with all that they have; their ids."""
    if ids:
        await job_objects.doom(connection, job.c.pipeline_id.in_(ids))
        # Deployments may be without a pipeline; those of jobs go with theirs.
        await connection.execute(delete(deployment).where(deployment.c.pipeline_id.in_(ids)))
        await row_removal.remove(connection, row_removal.rules_of(pipeline, pipeline.c.id.in_(ids)))
    return list(ids)
