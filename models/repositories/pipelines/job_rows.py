"""Job rows: snapshots for decisions, and the one place that writes their status."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Executable, and_, bindparam, delete, exists, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.config.plan import RetryPolicy, When
from domain.pipelines.pipeline import Job as Snapshot
from domain.pipelines.status import COMPLETE, Status, mirrored_from, sources_of
from domain.pipelines.verdict import Verdict
from models.columns import table_of
from models.repositories import database_time
from models.repositories.hooks import webhook_events
from models.repositories.pipelines import outbox
from models.rows.pipelines import MovedJobRow
from models.tables.environments import ResourceGroup
from models.tables.pipelines import Job
from models.tables.queue import QueueEntry
from models.typed_rows import all_of

job = table_of(Job)
group = table_of(ResourceGroup)
queue_entry = table_of(QueueEntry)

SNAPSHOT = (
    job.c.id,
    job.c.name,
    job.c.stage_position,
    job.c.status,
    job.c.when,
    job.c.allow_failure,
    job.c.needs,
    job.c.retry,
    job.c.attempt,
    job.c.start_in,
    job.c.due_at,
    job.c.enqueue,
    job.c.folded,
    job.c.hand_out,
    job.c.failure_reason,
    job.c.exit_code,
    job.c.started_at,
    job.c.auto_retry,
    job.c.interruptible,
    job.c.room,
    job.c.bridge,
    job.c.downstream_id,
    job.c.resource_group_id,
    and_(
        job.c.resource_group_id.is_not(None),
        exists().where(group.c.id == job.c.resource_group_id, group.c.holder_id == job.c.id),
    ).label("slot"),
)

MOVED = (
    job.c.id,
    job.c.pipeline_id,
    job.c.project_id,
    job.c.demand_id,
    job.c.bridge,
    job.c.environment_action,
    job.c.resource_group_id,
    webhook_events.WATCHED,
)
"""What is known of a job whose status was just written (`MovedJobRow`)."""


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What the verdict of a job is made of, whether it is folded, and the room that waits for it."""

    id: int
    status: str
    hand_out: int
    failure_reason: str
    exit_code: int | None
    started_at: datetime | None
    allow_failure: bool
    auto_retry: bool
    folded: bool
    room: str


@dataclass(frozen=True, slots=True)
class SnapshotRow(VerdictRow):
    """What the columns `SNAPSHOT` give of a job; `slot` says that it is the holder of its resource group."""

    name: str
    stage_position: int
    when: str
    needs: Sequence[str] | None
    retry: Mapping[str, Any]
    attempt: int
    start_in: int | None
    due_at: datetime | None
    enqueue: bool
    interruptible: bool
    bridge: bool
    downstream_id: int | None
    resource_group_id: int | None
    slot: bool


def snapshot(row: SnapshotRow) -> Snapshot:
    """A job as decisions see it: one whose verdict is not folded yet still runs."""
    status = Status(row.status)
    return Snapshot(
        id=row.id,
        name=row.name,
        stage=row.stage_position,
        status=status if row.folded else Status.RUNNING,
        when=When(row.when),
        allow_failure=row.allow_failure,
        needs=None if row.needs is None else tuple(row.needs),
        retry=policy_of(row.retry),
        attempt=row.attempt,
        start_in=row.start_in,
        due_at=row.due_at,
        enqueue=row.enqueue,
        auto_retry=row.auto_retry,
        interruptible=row.interruptible,
        grouped=row.resource_group_id is not None,
        slot=bool(row.slot),
        bridge=row.bridge,
        follows=row.downstream_id is not None,
        room=row.room,
    )


def policy_of(document: Mapping[str, Any]) -> RetryPolicy:
    """The `retry` of a job as its row keeps it."""
    return RetryPolicy(document.get("max", 0), tuple(document.get("when", ())), tuple(document.get("exit_codes", ())))


def verdict_of(row: VerdictRow) -> Verdict:
    """The verdict that a row holds."""
    return Verdict(
        job_id=row.id,
        status=Status(row.status),
        hand_out=row.hand_out,
        reason=row.failure_reason,
        exit_code=row.exit_code,
        allow_failure=row.allow_failure,
        auto_retry=row.auto_retry,
        of_row=True,
        ran=row.started_at is not None,
    )


async def set_status(
    connection: AsyncConnection, ids: Iterable[int], to: Status, now: datetime, **values: Any
) -> list[int]:
    """Move jobs as `move` does; give back their ids."""
    return [row.id for row in await move(connection, ids, to, now, **values)]


async def move(
    connection: AsyncConnection, ids: Iterable[int], to: Status, now: datetime, **values: Any
) -> Sequence[MovedJobRow]:
    """Move the jobs that the transition table lets move to `to`; give back those that moved.

    Times follow the status: pending sets `queued_at`, an end sets `finished_at`, a way back clears both, and a bridge
    that is reset follows nothing until it has its downstream pipeline again. A job that
    becomes pending is in the queue of the runners afterwards; a bridge, which takes no runner, in the outbox.
    """
    wanted = sorted(ids)
    if not wanted:
        return ()
    written = {**_times(to, now), **values}
    given = {"b_jobs": wanted, **{f"b_{name}": value for name, value in written.items()}}
    moved = all_of(MovedJobRow, await connection.execute(_moving(to, tuple(written)), given))
    if to is Status.PENDING:
        await _enqueue(connection, [row for row in moved if not row.bridge])
        for row in moved:
            if row.bridge:
                await outbox.put(connection, outbox.BRIDGE, row.pipeline_id, now, job_ids=[row.id])
    await webhook_events.jobs_changed(connection, moved, now)
    return moved


@cache
def _moving(to: Status, written: tuple[str, ...]) -> Executable:
    """The statement that moves jobs to a status and writes these columns."""
    return (
        update(job)
        .where(job.c.id.in_(bindparam("b_jobs", expanding=True)), _permits(to))
        .values(status=to, **{name: bindparam(f"b_{name}") for name in written})
        .returning(*MOVED)
    )


def _permits(to: Status) -> ColumnElement[bool]:
    permitted = job.c.status.in_(sources_of(to))
    mirrored = mirrored_from(to)
    return or_(permitted, and_(job.c.downstream_id.is_not(None), job.c.status.in_(mirrored))) if mirrored else permitted


def _times(to: Status, now: datetime) -> dict[str, datetime | None]:
    if to is Status.PENDING:
        return {"queued_at": now, "started_at": None, "finished_at": None, "script_at": None}
    if to is Status.CREATED:
        gone = ("queued_at", "started_at", "finished_at", "script_at", "downstream_id", "downstream_ended_at")
        return dict.fromkeys(gone)
    if to is Status.RUNNING:
        return {"started_at": now}
    return {"finished_at": now} if to in COMPLETE else {}


@cache
def _entry(dialect: str) -> Executable:
    """The statement that puts jobs into the queue."""
    return insert(queue_entry).values(
        job_id=bindparam("b_job"),
        demand_id=bindparam("b_demand"),
        since=database_time.seconds_of(dialect),
    )


async def _enqueue(connection: AsyncConnection, rows: Sequence[MovedJobRow]) -> None:
    if rows:
        entries = [{"b_job": row.id, "b_demand": row.demand_id} for row in rows]
        await connection.execute(_entry(connection.dialect.name), entries)


async def enqueue_again(connection: AsyncConnection, job_id: int) -> None:
    """Put a pending job that waited for something else into the queue."""
    statement = select(job.c.id, job.c.demand_id).where(job.c.id == job_id)
    entries = [{"b_job": row.id, "b_demand": row.demand_id} for row in await connection.execute(statement)]
    await connection.execute(_entry(connection.dialect.name), entries)


async def lock(connection: AsyncConnection, ids: Iterable[int]) -> None:
    """Lock jobs, in the order in which everybody does: jobs by id, then their leases, then their logs.

    Rows may still refer to them: a runner's call holds its lease already when it writes such a row.
    """
    locked = select(job.c.id).where(job.c.id.in_(sorted(ids))).order_by(job.c.id).with_for_update(key_share=True)
    await connection.execute(locked)


async def dequeue(connection: AsyncConnection, ids: Sequence[int]) -> None:
    """Take jobs out of the queue."""
    await connection.execute(delete(queue_entry).where(queue_entry.c.job_id.in_(ids)))


_STUCK_CANCELING: Final = select(job.c.id).where(
    job.c.status == Status.CANCELING, job.c.canceling_at < bindparam("b_before")
)


async def stuck_canceling(connection: AsyncConnection, patience: float) -> list[int]:
    """Jobs that were asked to stop more than `patience` seconds ago, by the database's clock, and still have not."""
    before = await database_time.moment(connection) - timedelta(seconds=patience)
    return list((await connection.execute(_STUCK_CANCELING, {"b_before": before})).scalars())
