"""Bridges in SQL: read for making their pipeline, marked when it is made, and kept in step with its status."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import and_, bindparam, func, insert, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD, DOWNSTREAM_FAILED, MIRROR, Act, Ancestor, Step, follow
from domain.pipelines.cross_pod import PipelineState
from domain.pipelines.status import COMPLETE, Status
from domain.variables.ci_variables import CiVariable
from models.columns import table_of
from models.repositories.pipelines import operation_callers, outbox, verdicts
from models.repositories.pipelines.job_rows import job, set_status
from models.repositories.pipelines.warnings import PIPELINE
from models.repositories.projects import ci_variables
from models.repositories.queue import hand_outs
from models.repositories.queue.claims import lift
from models.repositories.queue.hand_outs import HandOut
from models.rows.accounts import UserRow
from models.rows.pipelines import JobRow, PipelineRow
from models.rows.projects import ProjectRow
from models.rows.variables import CiVariableRow
from models.tables.accounts import User
from models.tables.logs import Trace, TraceChunk
from models.tables.pipelines import OPEN_BRIDGE, OPEN_PIPELINE, Pipeline, Stage
from models.tables.projects import Project
from models.typed_rows import all_of, one_of

pipeline = table_of(Pipeline)
stage = table_of(Stage)
project = table_of(Project)
user = table_of(User)
trace = table_of(Trace)
chunk = table_of(TraceChunk)


@dataclass(frozen=True, slots=True)
class Bridge:
    """Rows behind a bridge: the job, its pipeline, its project, who runs it, and variables of the jobs before it.

    `sealed` and `ci_variables` are as in `models.repositories.queue.hand_outs.HandOut`.
    """

    job: JobRow
    pipeline: PipelineRow
    project: ProjectRow
    user: UserRow
    dotenv: Sequence[Mapping[str, str]] = ()
    sealed: Sequence[tuple[int, CiVariableRow]] = ()
    ci_variables: Sequence[CiVariable] = ()


async def read(connection: AsyncConnection, job_id: int) -> Bridge:
    """A bridge with what is around it."""
    row = one_of(JobRow, await connection.execute(select(job).where(job.c.id == job_id)))
    of_pipeline = select(*PIPELINE).where(pipeline.c.id == row.pipeline_id)
    of_project = select(project).where(project.c.id == row.project_id)
    return Bridge(
        job=row,
        pipeline=one_of(PipelineRow, await connection.execute(of_pipeline)),
        project=one_of(ProjectRow, await connection.execute(of_project)),
        user=one_of(UserRow, await connection.execute(select(user).where(user.c.id == row.user_id))),
        dotenv=await hand_outs.dotenv(connection, row),
        sealed=await ci_variables.reaching(connection, row.project_id),
    )


async def is_pending(connection: AsyncConnection, job_id: int) -> bool:
    """Whether the bridge still waits for its pipeline; nobody else changes that until the transaction ends."""
    statement = select(job.c.id).where(job.c.id == job_id, job.c.status == Status.PENDING).with_for_update()
    return (await connection.execute(statement)).first() is not None


async def made_by(connection: AsyncConnection, job_id: int) -> int | None:
    """The pipeline that a bridge has made."""
    found: int | None = (await connection.execute(select(pipeline.c.id).where(pipeline.c.bridge_id == job_id))).scalar()
    return found


async def above(connection: AsyncConnection, pipeline_id: int) -> tuple[Ancestor, ...]:
    """A pipeline and all those that have led to it."""
    columns = (pipeline.c.id, pipeline.c.upstream_id, pipeline.c.project_id, pipeline.c.ref, pipeline.c.source)
    start = select(*columns).where(pipeline.c.id == pipeline_id).cte("above", recursive=True)
    whole = start.union_all(select(*columns).join(start, start.c.upstream_id == pipeline.c.id))
    found = await connection.execute(select(whole.c.project_id, whole.c.ref, whole.c.source))
    return tuple(all_of(Ancestor, found))


async def size_of_hierarchy(connection: AsyncConnection, root_id: int) -> int:
    """How many pipelines have come from this one, itself included."""
    statement = select(func.count()).select_from(pipeline).where(pipeline.c.root_id == root_id)
    return int((await connection.execute(statement)).scalar_one()) + 1


async def newest_of(connection: AsyncConnection, project_id: int, ref: str) -> int | None:
    """The latest pipeline of a ref; child pipelines do not count as one."""
    statement = (
        select(pipeline.c.id)
        .where(pipeline.c.project_id == project_id, pipeline.c.ref == ref, ~pipeline.c.tag)
        .where(pipeline.c.source != CHILD)
        .order_by(pipeline.c.id.desc())
        .limit(1)
    )
    found: int | None = (await connection.execute(statement)).scalar()
    return found


async def begin(connection: AsyncConnection, bridge: Bridge, downstream_id: int, now: datetime) -> None:
    """A pending bridge has its downstream pipeline and runs; one without a strategy is successful at once."""
    # Held until the end, so that no change of that pipeline's status falls between this look and its next one.
    locked = select(pipeline.c.id).where(pipeline.c.id == downstream_id).with_for_update(key_share=True)
    await connection.execute(locked)
    # Jobs, stages, pipeline is everybody's order; the second change of a job's row looks at its stage once more.
    its_stage = select(stage.c.id).where(stage.c.id == bridge.job.stage_id)
    await connection.execute(its_stage.with_for_update(read=True, key_share=True))
    await set_status(connection, [bridge.job.id], Status.RUNNING, now, downstream_id=downstream_id)
    await lift(connection, [HandOut(bridge.job, bridge.pipeline, bridge.project, bridge.user, (), "")], now)
    if not bridge.job.strategy:
        await verdicts.end_jobs(connection, [bridge.job.id], Status.SUCCESS, now, queued=False)


async def refuse(
    connection: AsyncConnection, bridge: Bridge, reason: str, text: str, now: datetime, *, downstream_id: int | None
) -> None:
    """A pending bridge has failed; its log says why. `downstream_id` is a pipeline that shows the faults, if any."""
    content = f"{text}\n".encode()
    await connection.execute(
        insert(trace).values(
            job_id=bridge.job.id,
            generation=0,
            size=len(content),
            crc=zlib.crc32(content),
            frozen=False,
            resent=False,
            stored=False,
        )
    )
    await connection.execute(insert(chunk).values(job_id=bridge.job.id, generation=0, start=0, content=content))
    if downstream_id is not None:
        statement = update(job).where(job.c.id == bridge.job.id).values(downstream_id=downstream_id)
        await connection.execute(statement)
    await verdicts.end_jobs(connection, [bridge.job.id], Status.FAILED, now, reason=reason, queued=False)


_STATUS: Final = select(pipeline.c.status).where(pipeline.c.id == bindparam("b_pipeline")).with_for_update(read=True)
"""The pipeline stays as it is until what follows from it is written: else an end could be taken over after a retry."""
_FOLLOWERS: Final = (
    select(
        job.c.id,
        job.c.pipeline_id,
        job.c.status,
        job.c.strategy,
        job.c.folded,
        job.c.downstream_ended_at,
    )
    .where(job.c.downstream_id == bindparam("b_pipeline"), ~job.c.retried)
    .order_by(job.c.id)
    .with_for_update()
)
"""They are locked before the pipeline, as by `begin`."""
_ENDED: Final = (
    update(job)
    .where(job.c.downstream_id == bindparam("b_pipeline"), ~job.c.retried, job.c.downstream_ended_at.is_(None))
    .values(downstream_ended_at=bindparam("b_now"))
)


@dataclass(frozen=True, slots=True)
class _FollowerRow:
    """A bridge that follows a pipeline."""

    id: int
    pipeline_id: int
    status: str
    strategy: str
    folded: bool
    downstream_ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Told:
    """What a look at a downstream pipeline did: the `pipelines` whose jobs changed, and whether some must wait."""

    pipelines: tuple[int, ...] = ()
    again: bool = False


async def tell_followers(connection: AsyncConnection, downstream_id: int, number: int, now: datetime) -> Told:
    """Let every bridge that follows a pipeline of this pod take over its status as it is now.

    `number` is that of the outbox row: with it a repetition asks for nothing new.
    """
    rows = all_of(_FollowerRow, await connection.execute(_FOLLOWERS, {"b_pipeline": downstream_id}))
    status = Status((await connection.execute(_STATUS, {"b_pipeline": downstream_id})).scalar_one())
    return await _let_follow(connection, rows, downstream_id, status, str(number), now)


async def lock_followers(connection: AsyncConnection, downstream_id: int) -> None:
    """Keep bridges that follow a pipeline as they are: jobs come first in everybody's order."""
    await connection.execute(_FOLLOWERS, {"b_pipeline": downstream_id})


async def tell_of_other_pod(connection: AsyncConnection, state: PipelineState, now: datetime) -> Told:
    """Let every bridge that follows a pipeline of another pod take over its status as it was told."""
    rows = all_of(_FollowerRow, await connection.execute(_FOLLOWERS, {"b_pipeline": state.id}))
    number = "-".join(str(int(part)) for part in state.version)
    return await _let_follow(connection, rows, state.id, state.status, number, now)


async def _let_follow(
    connection: AsyncConnection,
    rows: Sequence[_FollowerRow],
    downstream_id: int,
    status: Status,
    number: str,
    now: datetime,
) -> Told:
    """A bridge whose end is not folded yet cannot come to life again; it has to be told again then."""
    if status in COMPLETE:
        await connection.execute(_ENDED, {"b_pipeline": downstream_id, "b_now": now})
    changed: list[int] = []
    again = False
    for row in rows:
        ended = row.downstream_ended_at is not None
        step = follow(row.strategy, Status(row.status), status, ended_before=ended)
        if step.act is Act.REVIVE and not row.folded:
            again = True
        elif step.act is not Act.NOTHING:
            await _take(connection, row, step, downstream_id, number, now)
            changed.append(row.pipeline_id)
    return Told(tuple(changed), again)


async def _take(
    connection: AsyncConnection, row: _FollowerRow, step: Step, downstream_id: int, number: str, now: datetime
) -> None:
    if step.act is Act.END:
        reason = DOWNSTREAM_FAILED if step.to is Status.FAILED else ""
        await verdicts.end_jobs(connection, [row.id], step.to, now, reason=reason, queued=False)
        return
    if step.act is Act.REVIVE:
        payload = {"name": "revive_bridge", "key": f"revive-{row.id}"}
        caller = await operation_callers.newest(connection, downstream_id)
        if caller is not None:  # what comes to life above runs for whoever has let this one run again
            await operation_callers.put(connection, row.pipeline_id, row.id, caller, **payload)
    else:
        payload = {"name": "mirror_downstream", "key": f"mirror-{row.id}-{number}", "reason": str(step.to)}
    await outbox.put(connection, outbox.COMMAND, row.pipeline_id, now, job_ids=[row.id], payload=payload)


_OPEN_ON_SQLITE: Final = text(f"SELECT job.id FROM job INDEXED BY job_open_bridge WHERE {OPEN_BRIDGE}")  # noqa: S608
"""Of an index that was empty when it last counted SQLite knows nothing: by itself it reads all bridges there were."""


async def out_of_step(connection: AsyncConnection, before: datetime) -> Sequence[int]:
    """Downstream pipelines that were quiet since `before` and that a bridge has not caught up with.

    It is open though they have ended or wait for a person, or it has ended though they live again.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    waits = pipeline.c.status == Status.MANUAL
    is_over = pipeline.c.status.in_(COMPLETE)
    quiet = select(pipeline.c.id).where(~job.c.retried, pipeline.c.updated_at < before)
    behind = quiet.join(job, job.c.downstream_id == pipeline.c.id).where(
        job.c.id.in_(_OPEN_ON_SQLITE.columns(job.c.id)) if is_sqlite else text(OPEN_BRIDGE),
        or_(is_over, and_(job.c.strategy == MIRROR, waits != (job.c.status == Status.MANUAL))),
    )
    revived = quiet.join(job, job.c.downstream_id == pipeline.c.id).where(
        text(OPEN_PIPELINE),
        job.c.status.concat("").in_(COMPLETE - {Status.SKIPPED}),  # by no index: few pipelines are open
        job.c.strategy != "",
        job.c.downstream_ended_at.is_not(None),
    )
    statement = behind.union(revived)
    return list((await connection.execute(statement)).scalars())
