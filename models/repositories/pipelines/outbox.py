"""The outbox: what SQL has to tell Temporal, written in the transaction of its cause.

Rows are taken unsent, never by a cursor; each backs off by itself (docs/seam.md, "Outbox").
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Integer, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.installation.installations import HELD
from models.rows.outbox import UnsentRow
from models.tables.outbox import Outbox
from models.tables.pipelines import Pipeline
from models.typed_rows import all_of

outbox = table_of(Outbox)
pipeline = table_of(Pipeline)

START: Final = "start"
"""A pipeline's workflow is to be started."""
OUTCOME: Final = "outcome"
"""A job has ended: the activity that waits for it is to be completed."""
COMMAND: Final = "command"
"""A pipeline is asked for an operation: `payload` holds `name`, `key`, and perhaps `variables` and `reason`."""
GROUP: Final = "group"
"""Something changed for a resource group, whose id is `payload["group"]`: it is to look who comes next."""
BRIDGE: Final = "bridge"
"""A bridge has become pending: its downstream pipeline is to be made."""
FOLLOW: Final = "follow"
"""The status of the pipeline has changed: the bridges that follow it are to be told."""

BRIDGE_ELSEWHERE: Final = "bridge_elsewhere"
"""A bridge has become pending whose downstream pipeline another pod is to make."""
TELL_UPSTREAM: Final = "tell_upstream"
"""The status of the pipeline has changed: the pod of the bridge that made it is to be told."""

RELEASED: Final = "released"
"""A pipeline of a tag has succeeded: other pods whose projects follow its project are to be told."""

NEEDS_ELSEWHERE: Final = "needs_elsewhere"
"""A pending job needs artifacts of a project in another pod; it is in no queue until that has answered."""

TO_TEMPORAL: Final = (START, OUTCOME, COMMAND, GROUP)
"""Kinds that the relay sends."""
TO_BRIDGES: Final = (BRIDGE, FOLLOW)
"""Kinds that the bridge loop carries out."""
TO_PODS: Final = (BRIDGE_ELSEWHERE, TELL_UPSTREAM, NEEDS_ELSEWHERE, RELEASED)
"""Kinds that are carried out by calls of other pods."""

_ADD: Final = insert(outbox)
_HASTEN: Final = (
    update(outbox)
    .where(outbox.c.pipeline_id == bindparam("b_pipeline"), outbox.c.sent_at.is_(None), outbox.c.attempts == 0)
    .values(not_before=bindparam("b_now"))
)
_jobs: Any = bindparam("b_jobs", expanding=True)
_rows: Any = bindparam("b_rows", expanding=True)
_kinds: Any = bindparam("b_kinds", expanding=True)
_UNSENT: Final = (
    select(outbox.c.id, outbox.c.kind, outbox.c.pipeline_id, outbox.c.job_id, outbox.c.payload, outbox.c.attempts)
    .add_columns(outbox.c.created_at)
    .where(outbox.c.sent_at.is_(None), outbox.c.not_before <= bindparam("b_now"), outbox.c.kind.in_(_kinds))
    .where(outbox.c.pipeline_id > HELD)
    .order_by(outbox.c.id)
    .limit(bindparam("b_limit", type_=Integer))
    .with_for_update(skip_locked=True, of=outbox)
)
_NEXT_DUE: Final = (
    select(outbox.c.not_before)
    .where(outbox.c.sent_at.is_(None), outbox.c.not_before > bindparam("b_now"), outbox.c.kind.in_(_kinds))
    .where(outbox.c.pipeline_id > HELD)
    .order_by(outbox.c.not_before)
    .limit(1)
)
_FORGET_SENT: Final = delete(outbox).where(outbox.c.id.in_(_rows))
_MARK_SENT: Final = update(outbox).where(outbox.c.id.in_(_rows)).values(sent_at=bindparam("b_now"))
_RETIRE: Final = delete(outbox).where(outbox.c.job_id.in_(_jobs), outbox.c.kind == OUTCOME)
_MAX_PAUSE: Final = timedelta(seconds=30)


async def put(
    connection: AsyncConnection,
    kind: str,
    pipeline_id: int,
    now: datetime,
    *,
    job_ids: Sequence[int | None] = (None,),
    payload: dict[str, Any] | None = None,
    due: datetime | None = None,
) -> None:
    """Write a row for each job (or one for the pipeline), to be sent when it is due: now, unless told."""
    if not job_ids:
        return
    rows = [
        {
            "kind": kind,
            "pipeline_id": pipeline_id,
            "job_id": job_id,
            "payload": payload or {},
            "attempts": 0,
            "error": "",
            "created_at": now,
            "not_before": due or now,
        }
        for job_id in job_ids
    ]
    await connection.execute(_ADD, rows if len(rows) > 1 else rows[0])


async def hasten(connection: AsyncConnection, pipeline_id: int, now: datetime) -> None:
    """Outcomes of a pipeline that linger are due now."""
    await connection.execute(_HASTEN, {"b_pipeline": pipeline_id, "b_now": now})


async def unsent(
    connection: AsyncConnection, now: datetime, limit: int, kinds: Sequence[str] = TO_TEMPORAL
) -> Sequence[UnsentRow]:
    """Rows of these kinds that are due, oldest first, that no other process is sending."""
    values = {"b_now": now, "b_limit": limit, "b_kinds": kinds}
    return all_of(UnsentRow, await connection.execute(_UNSENT, values))


async def mark_sent(connection: AsyncConnection, rows: Iterable[UnsentRow], now: datetime) -> None:
    """Temporal took these rows; outcomes stay until they are folded, everything else is done."""
    told = list(rows)
    done = [row.id for row in told if row.kind != OUTCOME]
    bells = [row.id for row in told if row.kind == OUTCOME]
    if done:
        await connection.execute(_FORGET_SENT, {"b_rows": done})
    if bells:
        await connection.execute(_MARK_SENT, {"b_rows": bells, "b_now": now})


async def back_off(connection: AsyncConnection, row_id: int, attempts: int, error: str, now: datetime) -> None:
    """Try this row again later: after 0.5 s, 1 s, 2 s ... 30 s."""
    pause = min(timedelta(seconds=0.5 * 2 ** min(attempts, 10)), _MAX_PAUSE)
    await connection.execute(
        update(outbox)
        .where(outbox.c.id == row_id)
        .values(attempts=attempts + 1, error=error[:500], not_before=now + pause)
    )


async def retire(connection: AsyncConnection, job_ids: Sequence[int]) -> None:
    """The outcomes of these jobs are folded: forget their rows."""
    if job_ids:
        await connection.execute(_RETIRE, {"b_jobs": job_ids})


async def next_due(connection: AsyncConnection, now: datetime, kinds: Sequence[str] = TO_TEMPORAL) -> datetime | None:
    """When the earliest unsent row of these kinds that is not due yet will be."""
    found: datetime | None = (await connection.execute(_NEXT_DUE, {"b_now": now, "b_kinds": kinds})).scalar()
    return found


async def hold(connection: AsyncConnection, ids: Sequence[int], now: datetime) -> None:
    """Keep rows from other relays for a moment; if this one dies they are due again soon."""
    if ids:
        later = now + timedelta(seconds=8)
        await connection.execute(update(outbox).where(outbox.c.id.in_(ids)).values(not_before=later))
