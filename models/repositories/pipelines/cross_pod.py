"""Pipelines and bridges that are in different pods, in SQL: what is known of the other side, and what it is told."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import and_, bindparam, exists, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import Ancestor
from domain.pipelines.cross_pod import DownstreamRequest, PipelineState, is_later
from domain.pipelines.status import COMPLETE, Status
from models.columns import table_of
from models.repositories.pipelines.job_rows import job
from models.repositories.pipelines.outbox import TELL_UPSTREAM, outbox
from models.rows.cross_pod import CrossPodDownstreamRow, CrossPodUpstreamRow
from models.tables.cross_pod import CrossPodDownstream, CrossPodUpstream
from models.tables.pipelines import Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of, first_of

downstream = table_of(CrossPodDownstream)
upstream = table_of(CrossPodUpstream)
pipeline = table_of(Pipeline)
project = table_of(Project)

ANCESTORS: Final = "ancestors"
HIERARCHY: Final = "hierarchy"
"""What the origin of a pipeline has that a job of another pod has made with its token."""
_RENAMED: Final = {"id": "pipeline_id", "project_id": "downstream_project_id"}
"""Fields of a state that are called otherwise in the row of a bridge."""
_COLUMNS: Final = {field.name: _RENAMED.get(field.name, field.name) for field in fields(PipelineState)}
_FOLLOWS: Final = and_(job.c.downstream_id == downstream.c.pipeline_id, ~job.c.retried)

_STATE: Final = (
    select(*(pipeline.c[name] for name in _COLUMNS if name not in {"full_path", "visibility"}))
    .add_columns(project.c.full_path, project.c.visibility)
    .join(project, project.c.id == pipeline.c.project_id)
    .where(pipeline.c.id == bindparam("b_pipeline"))
)


async def state_of(connection: AsyncConnection, pipeline_id: int) -> PipelineState | None:
    """A pipeline of this pod as another one is told of it; None where there is none."""
    row = (await connection.execute(_STATE, {"b_pipeline": pipeline_id})).mappings().first()
    return None if row is None else PipelineState(**{**row, "status": Status(row["status"])})


def known_state(row: CrossPodDownstreamRow) -> PipelineState:
    """A pipeline of another pod as it was told last."""
    values = {name: getattr(row, column) for name, column in _COLUMNS.items()}
    return PipelineState(**{**values, "status": Status(row.status)})


async def keep_downstream(
    connection: AsyncConnection, bridge_id: int, pod: int, state: PipelineState, now: datetime
) -> None:
    """A bridge of this pod has a pipeline in another one."""
    values = {column: getattr(state, name) for name, column in _COLUMNS.items()}
    await connection.execute(insert(downstream).values(bridge_id=bridge_id, pod=pod, checked_at=now, **values))


async def hear(connection: AsyncConnection, row: CrossPodDownstreamRow, state: PipelineState, now: datetime) -> bool:
    """Take over what another pod tells of a pipeline; whether that was new."""
    is_new = is_later(state, known_state(row))
    values = {column: getattr(state, name) for name, column in _COLUMNS.items()} if is_new else {}
    statement = update(downstream).where(downstream.c.bridge_id == row.bridge_id)
    await connection.execute(statement.values(checked_at=now, **values))
    return is_new


async def downstream_of_bridge(connection: AsyncConnection, bridge_id: int) -> CrossPodDownstreamRow | None:
    """What is known of the pipeline that a bridge has made in another pod; nobody else changes it meanwhile."""
    statement = select(downstream).where(downstream.c.bridge_id == bridge_id).with_for_update()
    return first_of(CrossPodDownstreamRow, await connection.execute(statement))


async def downstreams(connection: AsyncConnection, pipeline_ids: Collection[int]) -> Sequence[CrossPodDownstreamRow]:
    """What is known of these pipelines, as far as they are in other pods."""
    statement = select(downstream).where(downstream.c.pipeline_id.in_(list(pipeline_ids)))
    return all_of(CrossPodDownstreamRow, await connection.execute(statement))


async def unchecked(connection: AsyncConnection, before: datetime, limit: int) -> Sequence[CrossPodDownstreamRow]:
    """Pipelines of other pods that a bridge waits for and of which nobody has heard since `before`."""
    waits = job.c.status.in_([Status.RUNNING, Status.MANUAL])
    statement = (
        select(downstream)
        .join(job, _FOLLOWS)
        .where(waits, downstream.c.checked_at < before)
        .order_by(downstream.c.checked_at)
        .limit(limit)
    )
    return all_of(CrossPodDownstreamRow, await connection.execute(statement))


async def lock_project(connection: AsyncConnection, project_id: int) -> None:
    """Until the transaction ends nobody else makes a pipeline of this project."""
    await connection.execute(select(project.c.id).where(project.c.id == project_id).with_for_update())


async def upstream_by_bridge(connection: AsyncConnection, bridge_id: int) -> CrossPodUpstreamRow | None:
    """What a bridge of another pod has made here."""
    statement = select(upstream).where(upstream.c.bridge_id == bridge_id)
    return first_of(CrossPodUpstreamRow, await connection.execute(statement))


async def upstream_of(connection: AsyncConnection, pipeline_id: int) -> CrossPodUpstreamRow | None:
    """The bridge of another pod that has made a pipeline."""
    statement = select(upstream).where(upstream.c.pipeline_id == pipeline_id)
    return first_of(CrossPodUpstreamRow, await connection.execute(statement))


async def keep_upstream(
    connection: AsyncConnection, pipeline_id: int, pod: int, bridge_id: int, request: DownstreamRequest
) -> CrossPodUpstreamRow:
    """A bridge of another pod has made this pipeline; the first one that says so is the only one."""
    of = request.upstream
    values: dict[str, Any] = {
        "pipeline_id": pipeline_id,
        "bridge_id": bridge_id,
        "pod": pod,
        "upstream_id": of.id,
        "upstream_project_id": of.project_id,
        "full_path": of.full_path,
        "visibility": of.visibility,
        "ancestors": [asdict(ancestor) for ancestor in request.ancestors],
        "hierarchy": request.hierarchy,
        "told_status": "",
    }
    await connection.execute(insert(upstream).values(**values))
    return CrossPodUpstreamRow(**values)


async def note_told(connection: AsyncConnection, pipeline_id: int, status: Status) -> None:
    """The other pod has heard of this status."""
    await connection.execute(
        update(upstream).where(upstream.c.pipeline_id == pipeline_id).values(told_status=str(status))
    )


async def untold(connection: AsyncConnection, limit: int) -> Sequence[int]:
    """Pipelines of other pods' bridges that were open when last told, and have another status that nothing tells."""
    is_open = upstream.c.told_status.not_in(sorted(COMPLETE))
    is_owed = exists().where(outbox.c.pipeline_id == pipeline.c.id, outbox.c.kind == TELL_UPSTREAM)
    statement = (
        select(pipeline.c.id)
        .join(upstream, upstream.c.pipeline_id == pipeline.c.id)
        .where(is_open, pipeline.c.status != upstream.c.told_status, ~is_owed)
        .order_by(pipeline.c.updated_at)
        .limit(limit)
    )
    return list((await connection.execute(statement)).scalars())


async def above(connection: AsyncConnection, root_id: int) -> tuple[tuple[Ancestor, ...], int]:
    """What stands above the first pipeline of a hierarchy, in other pods: ancestors, and how many were counted.

    One that a bridge has made has them in a row of its own, one that a job has made with its token has them itself.
    """
    row = await upstream_of(connection, root_id)
    if row is not None:
        return tuple(Ancestor(**one) for one in row.ancestors), row.hierarchy
    found = (await connection.execute(select(pipeline.c.origin).where(pipeline.c.id == root_id))).scalar() or {}
    return tuple(Ancestor(**one) for one in found.get(ANCESTORS, ())), int(found.get(HIERARCHY, 0))
