"""Calls with an `Idempotency-Key`: begun once, answered once, forgotten after a day."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.rows.idempotency import IdempotentCallRow
from models.tables.idempotency import IdempotentCall
from models.typed_rows import one_of

call = table_of(IdempotentCall)

KEPT: Final = timedelta(hours=24)

_BEGIN: Final = {
    "postgresql": postgresql.insert(call).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(call).on_conflict_do_nothing(),
}


async def begin(
    connection: AsyncConnection, caller: str, key: str, fingerprint: str, now: datetime
) -> IdempotentCallRow | None:
    """Note that a call begins; None if it is the first of its key, else what is known of that one."""
    await connection.execute(delete(call).where(call.c.created_at < now - KEPT))
    mine = and_(call.c.caller == caller, call.c.key == key)
    row = {"caller": caller, "key": key, "fingerprint": fingerprint, "created_at": now}
    row |= {"status": None, "content_type": "", "answer": b""}
    # Waits for whoever writes the same key at this moment.
    if (await connection.execute(_BEGIN[connection.dialect.name], row)).rowcount:
        return None
    return one_of(IdempotentCallRow, await connection.execute(select(call).where(mine)))


async def end(
    connection: AsyncConnection, caller: str, key: str, status: int, content_type: str, answer: bytes
) -> None:
    """Keep the answer of a call."""
    mine = and_(call.c.caller == caller, call.c.key == key)
    values = {"status": status, "content_type": content_type, "answer": answer}
    await connection.execute(update(call).where(mine).values(**values))


async def forget(connection: AsyncConnection, caller: str, key: str) -> None:
    """A call was not carried out: it may be made again."""
    await connection.execute(delete(call).where(call.c.caller == caller, call.c.key == key))
