"""The unit of work: one transaction a `with` block, the same on SQLite and PostgreSQL.

On SQLite all writes go through one connection that begins with `BEGIN IMMEDIATE`: a transaction that reads first and
writes later fails at once under WAL, whatever the busy timeout (design, "Rules of the seam").
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import orjson
from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

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


class InlineConnection:
    """A SQLite connection behind the face of an `AsyncConnection`, used in the thread of the event loop.

    A statement takes some 25 microseconds, less than handing it to another thread and back.
    """

    def __init__(self, connection: Connection) -> None:
        """Use this connection, which is in a transaction."""
        self._connection = connection

    @property
    def dialect(self) -> Dialect:
        """What kind of database this is."""
        return self._connection.dialect

    async def execute(self, statement: Any, parameters: Any = None) -> Any:
        """Run a statement."""
        return self._connection.execute(statement, parameters)

    async def run_sync(self, work: Callable[[Connection], Any]) -> Any:
        """Call a function with the connection itself."""
        return work(self._connection)


class Database:
    """Connections to one pod's database. `read()` and `write()` give a connection in a transaction."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        """Open lazily; nothing is connected before the first statement."""
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self._turn = asyncio.Lock()
        if self.is_sqlite:
            self._writer = _sqlite(url, "BEGIN IMMEDIATE")
            self._reader = _sqlite(url, "")
        else:
            self._engine = create_async_engine(
                url, pool_size=pool_size, max_overflow=0, json_serializer=_json, json_deserializer=orjson.loads
            )

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Reads; on SQLite each statement sees the newest commit, as on PostgreSQL's default level."""
        with _explained():
            if self.is_sqlite:
                with self._reader.begin() as connection:
                    yield cast("AsyncConnection", InlineConnection(connection))
                return
            async with self._engine.begin() as asynchronous:
                yield asynchronous

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end of the block, or rolls back when it raises."""
        with _explained():
            if self.is_sqlite:
                async with self._turn:
                    with self._writer.begin() as connection:
                        yield cast("AsyncConnection", InlineConnection(connection))
                return
            async with self._engine.begin() as asynchronous:
                yield asynchronous

    async def close(self) -> None:
        """Close every connection."""
        if self.is_sqlite:
            self._writer.dispose()
            self._reader.dispose()
        else:
            await self._engine.dispose()


def _sqlite(url: str, begin: str) -> Engine:
    """An engine whose transactions begin as told, or are each statement by itself when nothing is told.

    Its pool never lets the event loop wait for a connection.
    """
    engine = create_engine(
        url.replace("+aiosqlite", ""),
        pool_size=10,
        max_overflow=-1,
        connect_args={"cached_statements": 512},
        json_serializer=_json,
        json_deserializer=orjson.loads,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
        cursor.close()

    if begin:

        @event.listens_for(engine, "begin")
        def start(connection: Any) -> None:
            connection.exec_driver_sql(begin)

    return engine


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
