"""What happened to merge requests and is to be carried out still: rows that go in the transaction of their effect."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.rows.merge_requests import MergeRequestEventRow
from models.tables.merge_requests import MergeRequestEvent
from models.typed_rows import all_of, first_of

event = table_of(MergeRequestEvent)

PIPELINE: Final = "pipeline"
"""The source branch has a new head, which gets its pipeline."""
REMOVE_BRANCH: Final = "remove_branch"
"""It is merged, and its source branch is to go."""
GRACE: Final = timedelta(seconds=60)
"""So long whoever wrote a row has to carry it out themselves, before others believe that they died."""
_MAX_PAUSE: Final = timedelta(minutes=5)


async def put(
    connection: AsyncConnection,
    merge_request_id: int,
    user_id: int,
    kind: str,
    sha: str,
    now: datetime,
    *,
    skip: bool = False,
) -> int:
    """Note what is to be done; the id of the row."""
    statement = insert(event).values(
        merge_request_id=merge_request_id,
        user_id=user_id,
        kind=kind,
        sha=sha,
        skip=skip,
        created_at=now,
        not_before=now + GRACE,
    )
    return int((await connection.execute(statement.returning(event.c.id))).scalar_one())


async def get(connection: AsyncConnection, event_id: int) -> MergeRequestEventRow | None:
    """One, unless it is carried out."""
    return first_of(MergeRequestEventRow, await connection.execute(select(event).where(event.c.id == event_id)))


async def of(connection: AsyncConnection, merge_request_id: int, kind: str) -> Sequence[MergeRequestEventRow]:
    """Those of one merge request and kind."""
    statement = select(event).where(event.c.merge_request_id == merge_request_id, event.c.kind == kind)
    return all_of(MergeRequestEventRow, await connection.execute(statement.order_by(event.c.id)))


async def take(connection: AsyncConnection, event_id: int) -> bool:
    """Carry out a row, in the transaction of its effect; false when somebody else did."""
    return bool((await connection.execute(delete(event).where(event.c.id == event_id))).rowcount)


async def due(connection: AsyncConnection, now: datetime, limit: int) -> Sequence[MergeRequestEventRow]:
    """Rows that whoever wrote them has not carried out."""
    statement = select(event).where(event.c.not_before <= now).order_by(event.c.id).limit(limit)
    return all_of(MergeRequestEventRow, await connection.execute(statement))


async def hasten(connection: AsyncConnection, now: datetime) -> None:
    """All rows are due: nobody else is there who could carry them out."""
    await connection.execute(update(event).values(not_before=now))


async def back_off(connection: AsyncConnection, row: MergeRequestEventRow, error: str, now: datetime) -> None:
    """Try a row again later."""
    pause = min(timedelta(seconds=2 ** min(row.attempts, 10)), _MAX_PAUSE)
    values = {"attempts": row.attempts + 1, "error": error[:500], "not_before": now + pause}
    await connection.execute(update(event).where(event.c.id == row.id).values(**values))


async def forget(connection: AsyncConnection, merge_request_id: int) -> None:
    """Drop all of a merge request."""
    await connection.execute(delete(event).where(event.c.merge_request_id == merge_request_id))
