"""Objects of the store that no row speaks of: uploads on their way, and what is to be deleted.

The key is here before the object is in the store, and until it is gone again: a process may be killed at any moment,
and no object is ever forgotten.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories import database_time
from models.tables.artifacts import ObjectToDelete

unused = table_of(ObjectToDelete)

MAX_UPLOAD: Final = timedelta(days=1)
"""An upload that began so long ago is none any more."""


async def announce(connection: AsyncConnection, key: str) -> None:
    """An upload begins under this key."""
    await _add(connection, [key], doomed=False)


async def take_up(connection: AsyncConnection, key: str) -> bool:
    """An upload is over and its object gets its row; false when it is too late: the object is to be deleted."""
    statement = delete(unused).where(unused.c.object_key == key, ~unused.c.doomed)
    return bool((await connection.execute(statement)).rowcount)


async def doom_announced(connection: AsyncConnection, key: str) -> None:
    """An upload has come to nothing; its object, if there is one, is to be deleted."""
    await connection.execute(update(unused).where(unused.c.object_key == key).values(doomed=True))


async def doom(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """These objects are to be deleted."""
    await _add(connection, keys, doomed=True)


async def to_delete(connection: AsyncConnection, limit: int) -> Sequence[str]:
    """Keys of up to `limit` objects that are to be deleted."""
    statement = select(unused.c.object_key).where(unused.c.doomed).order_by(unused.c.created_at).limit(limit)
    return (await connection.execute(statement)).scalars().all()


async def doomed_keys(connection: AsyncConnection) -> set[str]:
    """Keys of all objects that are to be deleted."""
    return set((await connection.execute(select(unused.c.object_key).where(unused.c.doomed))).scalars())


async def doom_abandoned(connection: AsyncConnection) -> int:
    """Let uploads go that nobody can still be making; how many."""
    oldest = await database_time.moment(connection) - MAX_UPLOAD
    statement = update(unused).where(~unused.c.doomed, unused.c.created_at < oldest).values(doomed=True)
    return int((await connection.execute(statement)).rowcount)


async def forget(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """These objects are gone."""
    await connection.execute(delete(unused).where(unused.c.object_key.in_(keys)))


async def _add(connection: AsyncConnection, keys: Sequence[str], *, doomed: bool) -> None:
    now = await database_time.moment(connection)
    await connection.execute(insert(unused), [{"object_key": key, "doomed": doomed, "created_at": now} for key in keys])
