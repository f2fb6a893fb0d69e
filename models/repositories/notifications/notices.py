"""What people may be told of, noted in the transaction of what happened; whom to tell is looked up later.

Whether anybody may be told stands in `watched` of the project, as for webhooks (`MAILED`, `CHATTED`): a project of
which nobody hears pays for nothing, and of one that is told of, only ends of pipelines and deployments cost anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import Executable, bindparam, case, delete, exists, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.hooks.webhooks import CHATTED, MAILED
from domain.notifications.occasions import Occasion
from domain.notifications.ref_health import AFTER, Health, occasion_of
from domain.notifications.words import MAX_JOBS
from domain.pipelines.bridges import CHILD
from domain.pipelines.status import Status
from models.columns import table_of
from models.rows.notifications import NoticeRow
from models.tables.notifications import Message, Notice, RefHealth
from models.tables.pipelines import Job, Pipeline
from models.typed_rows import all_of, one_of

notice = table_of(Notice)
message = table_of(Message)
ref_health = table_of(RefHealth)
job = table_of(Job)
pipeline = table_of(Pipeline)

OPEN: Final = "open"
DONE: Final = "done"
FAILED: Final = "failed"
TOLD: Final = MAILED | CHATTED
"""Bits of `project.watched`."""
ENDS: Final = frozenset({Status.SUCCESS, Status.FAILED})
"""Ends of pipelines that are told."""

OF_DEPLOYMENTS: Final[Mapping[str, tuple[Occasion, int]]] = {
    Status.RUNNING: (Occasion.DEPLOYMENT_STARTED, CHATTED),
    Status.SUCCESS: (Occasion.DEPLOYMENT_SUCCEEDED, TOLD),
    Status.FAILED: (Occasion.DEPLOYMENT_FAILED, TOLD),
    Status.CANCELED: (Occasion.DEPLOYMENT_CANCELED, CHATTED),
}
"""What is told of a deployment, and the bits of those who hear of it."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that people may be told of."""

    project_id: int
    kind: Occasion
    user_id: int | None = None
    pipeline_id: int | None = None
    job_id: int | None = None
    merge_request_id: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _EndedRow:
    """A pipeline that has ended."""

    id: int
    project_id: int
    user_id: int
    ref: str
    tag: bool
    source: str
    started_at: datetime | None
    finished_at: datetime | None
    duration: float | None


_PIPELINE: Final = select(
    pipeline.c.id,
    pipeline.c.project_id,
    pipeline.c.user_id,
    pipeline.c.ref,
    pipeline.c.tag,
    pipeline.c.source,
    pipeline.c.started_at,
    pipeline.c.finished_at,
    pipeline.c.duration,
).where(pipeline.c.id == bindparam("b_pipeline"))
_FAILED_JOBS: Final = (
    select(job.c.id)
    .where(job.c.pipeline_id == bindparam("b_pipeline"), job.c.status == Status.FAILED)
    .where(~job.c.retried, ~job.c.allow_failure)
    .order_by(job.c.stage_position, job.c.id)
)
_DUE: Final = (
    select(notice)
    .where(text(f"notice.state = '{OPEN}'"), notice.c.due_at <= bindparam("b_now"))  # as an index says it
    .order_by(notice.c.due_at, notice.c.id)
    .limit(bindparam("b_limit"))
)


@cache
def _move_health(dialect: str, status: Status) -> Executable:
    """The statement that notes how a ref fares after a pipeline, unless a newer one has ended: one step for all."""
    add: Any = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}[dialect]
    names = ("project_id", "ref", "tag", "pipeline_id")
    statement = add(ref_health).values(
        {name: bindparam(f"b_{name}") for name in names} | {"health": str(AFTER[status][None])}
    )
    steps = {str(before): str(after) for before, after in AFTER[status].items() if before is not None}
    moved: Executable = statement.on_conflict_do_update(
        index_elements=["project_id", "ref", "tag"],
        set_={
            "health": case(steps, value=ref_health.c.health, else_=str(AFTER[status][None])),
            "pipeline_id": statement.excluded.pipeline_id,
        },
        where=(ref_health.c.pipeline_id.is_(None)) | (ref_health.c.pipeline_id <= statement.excluded.pipeline_id),
    ).returning(ref_health.c.health)
    return moved


async def pipeline_ended(connection: AsyncConnection, pipeline_id: int, status: Status, now: datetime) -> None:
    """A pipeline has succeeded or failed. A child pipeline says nothing of its ref."""
    row = one_of(_EndedRow, await connection.execute(_PIPELINE, {"b_pipeline": pipeline_id}))
    health: Health | None = None
    if row.source != CHILD:
        given = {"b_project_id": row.project_id, "b_ref": row.ref, "b_tag": row.tag, "b_pipeline_id": row.id}
        moved = (await connection.execute(_move_health(connection.dialect.name, status), given)).scalar()
        health = None if moved is None else Health(moved)
    facts: dict[str, Any] = {"status": str(status)}
    if row.started_at is not None and row.finished_at is not None:
        whole = (row.finished_at - row.started_at).total_seconds()
        facts["seconds"] = round(whole if row.duration is None else row.duration)
    if status is Status.FAILED:
        failed = (await connection.execute(_FAILED_JOBS, {"b_pipeline": pipeline_id})).scalars().all()
        facts |= {"failed": list(failed[:MAX_JOBS]), "failed_count": len(failed)}
    kind = occasion_of(status, health)
    await put(connection, [Noticed(row.project_id, kind, row.user_id, row.id, facts=facts)], now)


async def put(connection: AsyncConnection, noticed: Sequence[Noticed], now: datetime) -> None:
    """Note what happened."""
    if noticed:
        await connection.execute(insert(notice), [row_of(one, now) for one in noticed])


def row_of(one: Noticed, now: datetime, state: str = OPEN) -> dict[str, Any]:
    """A row of `notice`."""
    return {
        "project_id": one.project_id,
        "kind": str(one.kind),
        "user_id": one.user_id,
        "pipeline_id": one.pipeline_id,
        "job_id": one.job_id,
        "merge_request_id": one.merge_request_id,
        "facts": dict(one.facts),
        "state": state,
        "attempts": 0,
        "due_at": now,
        "error": "",
        "created_at": now,
    }


async def add_done(connection: AsyncConnection, one: Noticed, now: datetime) -> int:
    """Note something whose messages the caller writes; its id."""
    statement = insert(notice).values(**row_of(one, now, DONE)).returning(notice.c.id)
    made: int = (await connection.execute(statement)).scalar_one()
    return made


async def due(connection: AsyncConnection, now: datetime, limit: int) -> Sequence[NoticeRow]:
    """Open notices that are to be looked at now."""
    return all_of(NoticeRow, await connection.execute(_DUE, {"b_now": now, "b_limit": limit}))


async def close(connection: AsyncConnection, notice_id: int) -> bool:
    """Its messages are about to be written, in the same transaction; false if somebody else has written them."""
    mine = update(notice).where(notice.c.id == notice_id, notice.c.state == OPEN).values(state=DONE)
    return bool((await connection.execute(mine)).rowcount)


async def back_off(connection: AsyncConnection, row: NoticeRow, error: str, again: datetime | None) -> None:
    """It could not be read; look again then, or never."""
    values = {"attempts": row.attempts + 1, "error": error[:1000]}
    values |= {"state": FAILED} if again is None else {"due_at": again}
    await connection.execute(update(notice).where(notice.c.id == row.id, notice.c.state == OPEN).values(**values))


async def forget(connection: AsyncConnection, before: datetime, limit: int = 1000) -> int:
    """Remove messages that ended, and notices that nobody hears of any more, from before `before`; how many."""
    old = select(message.c.id).where(message.c.created_at < before, message.c.state != OPEN).limit(limit)
    ended = await connection.execute(delete(message).where(message.c.id.in_(old)))
    unheard = ~exists().where(message.c.notice_id == notice.c.id)
    idle = select(notice.c.id).where(notice.c.created_at < before, notice.c.state != OPEN, unheard).limit(limit)
    done = await connection.execute(delete(notice).where(notice.c.id.in_(idle)))
    return int(ended.rowcount) + int(done.rowcount)


PAUSE: Final = timedelta(seconds=5)
MAX_PAUSE: Final = timedelta(hours=1)


def pause_after(attempts: int) -> timedelta:
    """How long after a failed look the next one is."""
    return min(MAX_PAUSE, PAUSE * (1 << min(attempts, 20)))
