"""Further attempts of jobs: new rows, unique on (first job, attempt), so that a repeated activity makes each once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import false, func, insert, literal, null, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.operations import Attempt
from domain.pipelines.pipeline import Job as Snapshot
from domain.pipelines.status import Status
from models.repositories.pipelines import pinned_steps
from models.repositories.pipelines.job_rows import SNAPSHOT, SnapshotRow, job, snapshot
from models.typed_rows import all_of

_COPIED = (
    "pipeline_id stage_id project_id user_id name position stage_position stage_name first_id when needs retry "
    "start_in plan why variables inputs tags demand_id timeout exit_codes_allowed interruptible bridge strategy "
    "resource_group_id environment_id environment_action"
).split()


async def add_attempts(connection: AsyncConnection, attempts: tuple[Attempt, ...], now: datetime) -> None:
    """Make the next attempt of each job and mark the old row as retried."""
    for attempt in attempts:
        old = job.alias()
        fresh = {
            "attempt": old.c.attempt + 1,
            "allow_failure": func.coalesce(old.c.plan["allow_failure"].as_boolean(), false()),
            "status": literal(str(Status.CREATED)),
            "enqueue": literal(attempt.enqueue),
            "retried": literal(False),
            "auto_retry": literal(True),
            "hand_out": literal(0),
            "system_id": literal(""),
            "cancel_gracefully": literal(False),
            "folded": literal(True),
            "failure_reason": literal(""),
            "log_incomplete": literal(False),
            "unknown_caller": old.c.unknown_caller,
            "room": literal(""),
            "downstream_id": old.c.downstream_id if attempt.follows else null(),
            "created_at": literal(now, job.c.created_at.type),
        }
        columns = [*_COPIED, *fresh]
        values = [*(old.c[name] for name in _COPIED), *fresh.values()]
        source = select(*values).where(old.c.id == attempt.job_id, ~old.c.retried)
        await connection.execute(insert(job).from_select(columns, source))
        await connection.execute(update(job).where(job.c.id == attempt.job_id).values(retried=True))
        if attempt.repeats:
            await pinned_steps.repeat(connection, attempt.job_id)


@dataclass(frozen=True, slots=True)
class _FollowingRow(SnapshotRow):
    """An attempt, and the one before it."""

    previous: int


async def attempts_of(connection: AsyncConnection, attempts: Sequence[Attempt]) -> dict[int, Snapshot]:
    """The rows that follow those that `attempts` name, by the id of the row that each follows."""
    if not attempts:
        return {}
    old = job.alias()
    statement = (
        select(*SNAPSHOT, old.c.id.label("previous"))
        .join(old, (old.c.first_id == job.c.first_id) & (old.c.attempt + 1 == job.c.attempt))
        .where(old.c.id.in_([attempt.job_id for attempt in attempts]))
        .order_by(job.c.id)
    )
    return {row.previous: snapshot(row) for row in all_of(_FollowingRow, await connection.execute(statement))}
