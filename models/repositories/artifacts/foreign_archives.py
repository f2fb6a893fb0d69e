"""Archives and variables from outside a job's own pipeline: of its family of pipelines, and of other projects.

Only latest attempts that succeeded count. Source: docs/reference/ci-yaml.md, "Needs".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from sqlalchemy import bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD
from domain.pipelines.status import Status
from models.repositories.artifacts.artifacts import ARCHIVE, artifact, kept, pipeline, project
from models.repositories.artifacts.reports import DOTENV, report
from models.repositories.pipelines.job_rows import job
from models.rows.artifacts import ArtifactRow
from models.typed_rows import first_of

_DEEPEST: Final = 64
"""So many parents are gone up at most; no hierarchy may become nearly as deep."""

_UP: Final = select(pipeline.c.id, pipeline.c.source, pipeline.c.upstream_id).where(
    pipeline.c.id == bindparam("b_pipeline")
)
_JOB: Final = (
    select(
        job.c.id,
        job.c.name,
        job.c.plan["artifacts"].label("announced"),
        artifact.c.filename,
        artifact.c.size,
        artifact.c.object_key,
        artifact.c.expire_at,
        job.c.pipeline_id,
        report.c.entries.label("dotenv"),
    )
    .outerjoin(artifact, (artifact.c.job_id == job.c.id) & (artifact.c.file_type == ARCHIVE))
    .outerjoin(report, (report.c.job_id == job.c.id) & (report.c.kind == DOTENV))
    .where(job.c.pipeline_id == bindparam("b_pipeline"), job.c.name == bindparam("b_name"))
    .where(~job.c.retried, job.c.status == Status.SUCCESS)
)
_OF_ATTEMPT: Final = (
    select(artifact)
    .join(job, job.c.id == artifact.c.job_id)
    .where(job.c.pipeline_id == bindparam("b_pipeline"), job.c.name == bindparam("b_name"))
    .where(~job.c.retried, artifact.c.file_type == ARCHIVE, artifact.c.object_key != "")
)
_LATEST: Final = (
    select(pipeline.c.id)
    .where(pipeline.c.project_id == bindparam("b_project"), pipeline.c.ref == bindparam("b_ref"))
    .where(pipeline.c.status == Status.SUCCESS, pipeline.c.source != CHILD)
    .order_by(pipeline.c.id.desc())
    .limit(1)
)
_LATEST_OF_KIND: Final = _LATEST.where(pipeline.c.tag == bindparam("b_tag"))
_KEPT: Final = (
    select(pipeline.c.id)
    .join(project, project.c.id == pipeline.c.project_id)
    .where(pipeline.c.id == bindparam("b_pipeline"), kept(pipeline, project))
)


async def of_latest_attempt(connection: AsyncConnection, pipeline_id: int, name: str) -> ArtifactRow | None:
    """The archive of the latest attempt of a pipeline's job, however that ended; None without job or archive."""
    asked = {"b_pipeline": pipeline_id, "b_name": name}
    return first_of(ArtifactRow, await connection.execute(_OF_ATTEMPT, asked))


@dataclass(frozen=True, slots=True)
class ForeignJobRow:
    """A job from outside: what it `announced` of its artifacts, its archive, and the variables that it reported."""

    id: int
    name: str
    announced: Mapping[str, Any] | None
    filename: str | None
    size: int | None
    object_key: str | None
    expire_at: datetime | None
    pipeline_id: int
    dotenv: Sequence[Mapping[str, str]] | None


class Archive(Protocol):
    """The archive of a job, if it has one."""

    @property
    def name(self) -> str:
        """The name of the job."""

    @property
    def object_key(self) -> str | None:
        """The key of its object; empty or None when there is none."""

    @property
    def expire_at(self) -> datetime | None:
        """When its time is over."""


async def in_family(connection: AsyncConnection, own_id: int, pipeline_id: int, name: str) -> ForeignJobRow | None:
    """A successful job of a pipeline that has the same topmost parent as pipeline `own_id`; None if there is none."""
    if await _topmost(connection, own_id) != await _topmost(connection, pipeline_id):
        return None
    return await _successful(connection, pipeline_id, name)


async def of_project(
    connection: AsyncConnection, project_id: int, ref: str, tag: bool | None, name: str
) -> ForeignJobRow | None:
    """A successful job of the latest successful pipeline of a ref, child pipelines left out.

    `tag` is whether the ref is one, None where either will do.
    """
    asked = {"b_project": project_id, "b_ref": ref}
    if tag is None:
        found = (await connection.execute(_LATEST, asked)).scalar()
    else:
        found = (await connection.execute(_LATEST_OF_KIND, asked | {"b_tag": tag})).scalar()
    return None if found is None else await _successful(connection, found, name)


async def gone(connection: AsyncConnection, pipeline_id: int, archives: Sequence[Archive], now: datetime) -> list[str]:
    """Names of the jobs of a pipeline whose archives may not be relied on any more: gone, or expired and not kept."""
    expired = [row for row in archives if not row.object_key or (row.expire_at is not None and row.expire_at <= now)]
    if not expired:
        return []
    is_kept = (await connection.execute(_KEPT, {"b_pipeline": pipeline_id})).first() is not None
    return [row.name for row in expired if not row.object_key or not is_kept]


async def _successful(connection: AsyncConnection, pipeline_id: int, name: str) -> ForeignJobRow | None:
    return first_of(ForeignJobRow, await connection.execute(_JOB, {"b_pipeline": pipeline_id, "b_name": name}))


async def _topmost(connection: AsyncConnection, pipeline_id: int) -> int | None:
    """The pipeline that a child pipeline goes back to in its own project; None for one that does not exist."""
    at: int | None = pipeline_id
    for _ in range(_DEEPEST):
        row = (await connection.execute(_UP, {"b_pipeline": at})).first()
        if row is None:
            return None
        key, source, upstream_id = row
        if source != CHILD or upstream_id is None:
            return int(key)
        at = upstream_id
    return None
