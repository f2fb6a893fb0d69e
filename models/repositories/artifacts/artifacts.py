"""Artifacts of jobs: their rows. An object of the store outlives its row only as one that is to be deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, FromClause, bindparam, delete, insert, literal_column, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories import database_time
from models.repositories.artifacts import unused_objects
from models.repositories.pipelines.job_rows import job
from models.rows.artifacts import ArtifactRow
from models.tables.artifacts import Artifact
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of, first_of, one_of

artifact = table_of(Artifact)
pipeline = table_of(Pipeline)
project = table_of(Project)

ARCHIVE: Final = "archive"
"""Type of the artifact that jobs hand on to others."""
STEPS: Final = "steps"
"""Type of the results of a job's steps, for an attempt that begins behind some of them."""
REMEMBERED: Final = (ARCHIVE, STEPS)
"""Types whose rows stay when their files are gone: whoever asks for one is told so."""
_THERE: Final = artifact.c.object_key != literal_column("''")
_MAX_BATCH: Final = 500
"""So many artifacts of a project expire in one transaction when all of them are to."""


def kept(of_pipeline: FromClause, of_project: FromClause) -> ColumnElement[bool]:
    """Whether a pipeline's artifacts stay though their time is over; both rows are in the statement around.

    They stay until a later pipeline of the ref, no child pipeline, has succeeded; a project may have this switched off.
    """
    newer = pipeline.alias("newer")
    has_newer = select(newer.c.id).where(
        newer.c.project_id == of_pipeline.c.project_id,
        newer.c.ref == of_pipeline.c.ref,
        newer.c.tag == of_pipeline.c.tag,
        newer.c.status == Status.SUCCESS,
        newer.c.source != CHILD,
        newer.c.id > of_pipeline.c.id,
    )
    return of_project.c.keep_latest_artifacts & ~has_newer.exists()


_AROUND: Final = (
    artifact.join(job, job.c.id == artifact.c.job_id)
    .join(pipeline, pipeline.c.id == job.c.pipeline_id)
    .join(project, project.c.id == artifact.c.project_id)
)
_AVAILABLE: Final = (
    select(artifact)
    .select_from(_AROUND)
    .where(artifact.c.job_id == bindparam("b_job"), artifact.c.file_type == bindparam("b_type"), _THERE)
    .where(or_(artifact.c.expire_at.is_(None), artifact.c.expire_at > bindparam("b_now"), kept(pipeline, project)))
)
_EXPIRED: Final = (
    select(artifact.c.id, artifact.c.object_key)
    .select_from(_AROUND)
    .where(artifact.c.expire_at <= bindparam("b_now"), _THERE, artifact.c.parsed, ~kept(pipeline, project))
    .order_by(artifact.c.expire_at, artifact.c.id)
    .limit(bindparam("b_limit"))
    .with_for_update(of=artifact, skip_locked=True)
)
_LATER: Final = (
    select(artifact.c.id)
    .where(artifact.c.project_id == bindparam("b_project"), _THERE)
    .where(or_(artifact.c.expire_at.is_(None), artifact.c.expire_at > bindparam("b_now")))
    .limit(_MAX_BATCH)
    .with_for_update(skip_locked=True)
)
_HANDED_IN: Final = (
    select(job.c.plan["artifacts"].label("wish"), project.c.max_artifacts_size)
    .join(project, project.c.id == job.c.project_id)
    .where(job.c.id == bindparam("b_job"))
)
_RUN: Final = select(job.c.plan["run"]).where(job.c.id == bindparam("b_job"))


async def is_made_of_steps(connection: AsyncConnection, job_id: int) -> bool:
    """Whether a job has `run`."""
    return bool((await connection.execute(_RUN, {"b_job": job_id})).scalar_one())


async def find(connection: AsyncConnection, job_id: int, file_type: str) -> ArtifactRow | None:
    """A job's artifact of one type, or None; also one whose file is gone."""
    statement = select(artifact).where(artifact.c.job_id == job_id, artifact.c.file_type == file_type)
    return first_of(ArtifactRow, await connection.execute(statement))


async def available(connection: AsyncConnection, job_id: int, file_type: str) -> ArtifactRow | None:
    """A job's artifact of one type if it may still be read: its time is not over, or it is kept nevertheless."""
    now = await database_time.moment(connection)
    asked = {"b_job": job_id, "b_type": file_type, "b_now": now}
    return first_of(ArtifactRow, await connection.execute(_AVAILABLE, asked))


@dataclass(frozen=True, slots=True)
class WishRow:
    """What a job's configuration says of its artifacts, if anything, and how large its project lets them be."""

    wish: Mapping[str, Any] | None
    max_artifacts_size: int | None


async def wish_of(connection: AsyncConnection, job_id: int) -> WishRow:
    """Which artifacts a job is to have."""
    return one_of(WishRow, await connection.execute(_HANDED_IN, {"b_job": job_id}))


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> None:
    """Keep an artifact of a job; one of each type."""
    await connection.execute(insert(artifact).values(**values, created_at=now))


async def of_jobs(connection: AsyncConnection, job_ids: Sequence[int]) -> Sequence[ArtifactRow]:
    """Every artifact of these jobs whose file is there."""
    statement = select(artifact).where(artifact.c.job_id.in_(job_ids), _THERE).order_by(artifact.c.id)
    return all_of(ArtifactRow, await connection.execute(statement))


async def keep(connection: AsyncConnection, job_id: int) -> None:
    """Take the end off a job's artifacts."""
    await connection.execute(update(artifact).where(artifact.c.job_id == job_id).values(expire_at=None))


async def expire_some(connection: AsyncConnection, project_id: int) -> bool:
    """Let the time of some of a project's artifacts be over, those that are kept beyond it too; whether more may be."""
    now = await database_time.moment(connection)
    ids = (await connection.execute(_LATER, {"b_project": project_id, "b_now": now})).scalars().all()
    await connection.execute(update(artifact).where(artifact.c.id.in_(ids)).values(expire_at=now))
    return len(ids) == _MAX_BATCH


@dataclass(frozen=True, slots=True)
class _ExpiredRow:
    """An artifact whose time is over."""

    id: int
    object_key: str


async def expire(connection: AsyncConnection, limit: int) -> int:
    """Remove up to `limit` artifacts whose time is over; how many. Their objects are to be deleted from then on."""
    values = {"b_now": await database_time.moment(connection), "b_limit": limit}
    rows = all_of(_ExpiredRow, await connection.execute(_EXPIRED, values))
    await remove(connection, rows)
    return len(rows)


class StoredArtifact(Protocol):
    """An artifact, and the object that it is in the store."""

    @property
    def id(self) -> int:
        """Which artifact."""

    @property
    def object_key(self) -> str:
        """The key of its object."""


async def remove(connection: AsyncConnection, rows: Sequence[StoredArtifact]) -> None:
    """Forget artifacts; nobody finds them any more, and their objects are deleted."""
    if not rows:
        return
    await unused_objects.doom(connection, [row.object_key for row in rows])
    named = artifact.c.id.in_([row.id for row in rows])
    is_remembered = artifact.c.file_type.in_(REMEMBERED)
    await connection.execute(update(artifact).where(named, is_remembered).values(object_key=""))
    await connection.execute(delete(artifact).where(named, ~is_remembered))
