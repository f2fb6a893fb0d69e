"""Pushes: noted before git moves a ref, finished when every moved ref has its pipeline."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.rows.outbox import PushRow
from models.tables.outbox import Push
from models.typed_rows import all_of, one_of

push = table_of(Push)


async def note(
    connection: AsyncConnection,
    project_id: int,
    user_id: int,
    updates: Sequence[dict[str, str]],
    options: Sequence[str],
    now: datetime,
) -> int:
    """Write down what a push is about to do."""
    statement = insert(push).values(
        project_id=project_id, user_id=user_id, updates=list(updates), options=list(options), created_at=now
    )
    made: int = (await connection.execute(statement.returning(push.c.id))).scalar_one()
    return made


async def take(connection: AsyncConnection, push_id: int, now: datetime) -> bool:
    """Finish a push, in the transaction that creates its pipelines; false when another process has finished it."""
    done = await connection.execute(
        update(push).where(push.c.id == push_id, push.c.done_at.is_(None)).values(done_at=now)
    )
    return bool(done.rowcount)


async def get(connection: AsyncConnection, push_id: int) -> PushRow:
    """One push."""
    return one_of(PushRow, await connection.execute(select(push).where(push.c.id == push_id)))


async def open_since(connection: AsyncConnection, before: datetime) -> Sequence[PushRow]:
    """Pushes that began before `before` and were never finished: their process died."""
    statement = select(push).where(push.c.done_at.is_(None), push.c.created_at < before).order_by(push.c.id)
    return all_of(PushRow, await connection.execute(statement))
