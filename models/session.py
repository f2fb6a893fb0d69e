"""The unit of work: one transaction a `with` block, the same on SQLite and PostgreSQL.

On SQLite all writes go through one connection that begins with `BEGIN IMMEDIATE`: a transaction that reads first and
writes later fails at once under WAL, whatever the busy timeout (design, "Rules of the seam").
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import orjson
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from domain.errors import StorageFull, Unavailable

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA busy_timeout=15000",
    "PRAGMA cache_size=-65536",
)


_FULL = ("database or disk is full", "no space left on device", "diskfullerror")
_AWAY = (
    "database is locked",
    "unable to open database file",
    "disk i/o error",
    "connection is closed",
    "connection was closed",
    "cannotconnectnow",
    "adminshutdown",
    "crashshutdown",
    "toomanyconnections",
)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


class Database:
    """Connections to one pod's database. `read()` and `write()` give a connection in a transaction."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        """Open lazily; nothing is connected before the first statement."""
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self._turn = asyncio.Lock()
        if self.is_sqlite:
            self._writer = self._sqlite(url, 1, "BEGIN IMMEDIATE")
            self._reader = self._sqlite(url, 4, "BEGIN")
        else:
            self._writer = self._reader = create_async_engine(
                url, pool_size=pool_size, max_overflow=0, json_serializer=_json, json_deserializer=orjson.loads
            )

    @staticmethod
    def _sqlite(url: str, connections: int, begin: str) -> AsyncEngine:
        engine = create_async_engine(
            url, pool_size=connections, max_overflow=0, json_serializer=_json, json_deserializer=orjson.loads
        )

        @event.listens_for(engine.sync_engine, "connect")
        def prepare(connection: Any, _record: Any) -> None:
            connection.isolation_level = None
            cursor = connection.cursor()
            for pragma in _PRAGMAS:
                cursor.execute(pragma)
            cursor.close()

        @event.listens_for(engine.sync_engine, "begin")
        def start(connection: Any) -> None:
            connection.exec_driver_sql(begin)

        return engine

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that only reads."""
        with _explained():
            async with self._reader.begin() as connection:
                yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end of the block, or rolls back when it raises."""
        with _explained():
            if not self.is_sqlite:
                async with self._writer.begin() as connection:
                    yield connection
                return
            async with self._turn, self._writer.begin() as connection:
                yield connection

    async def close(self) -> None:
        """Close every connection."""
        await self._writer.dispose()
        if self.is_sqlite:
            await self._reader.dispose()


@contextmanager
def _explained() -> Iterator[None]:
    """Turn failures of the database itself into errors that a caller can act upon."""
    try:
        yield
    except (DBAPIError, ConnectionError) as error:
        text = str(error).lower()
        if any(sign in text for sign in _FULL):
            raise StorageFull("The database has no room left; free space on its disk, then try again.") from error
        away = isinstance(error, ConnectionError | InterfaceError) or error.connection_invalidated
        if away or any(sign in text for sign in _AWAY):
            raise Unavailable("The database is away; try again in a few seconds.") from error
        raise
