"""The unit of work: one transaction a `with` block, the same on SQLite and PostgreSQL.

On SQLite all writes go through one connection that begins with `BEGIN IMMEDIATE`: a transaction that reads first and
writes later fails at once under WAL, whatever the busy timeout (docs/seam.md, "SQLite").
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import asyncpg
import orjson
from sqlalchemy import Connection, Dialect, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from domain.errors import Invalid, StorageFull, Unavailable
from models.database_usage import DatabaseUsage, Turn

_SQLITE_CONNECTIONS = 2
"""One that writes, one that reads."""
_PATIENCE = 15.0
"""Seconds in which a transaction waits for that of another process on SQLite."""
_DATA_EXCEPTION = "22"
"""The class of PostgreSQL's error codes for values that a column cannot hold (its documentation, Appendix A)."""
_NOT_KEPT = "Bad request: a number is too large to be kept, or a text has a character that no database keeps (NUL)."
_LOOK_AGAIN = 0.002
"""Seconds between two tries of that."""

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={_PATIENCE * 1_000:.0f}",
    "PRAGMA cache_size=-65536",
)


_PLANNING = {"plan_cache_mode": "force_generic_plan", "jit": "off"}
"""For PostgreSQL: planning a statement of many joins anew each time costs more than running it."""

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

_LOST = (ConnectionError, InterfaceError, asyncpg.InternalClientError)
"""What a connection that is gone raises; asyncpg's own error between the server's last word and its end."""


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


class SqliteFile:
    """Two connections to a database file for as long as the process lives: one writes, one reads.

    Both are used in the thread of the event loop only, so a statement is over before another one begins. Transactions
    of the writer take turns; the reader has none, each of its statements sees the newest commit.
    """

    def __init__(self, url: str) -> None:
        """Connect lazily."""
        self._engine = _sqlite(url)
        self._turn = asyncio.Lock()
        self._open: dict[str, Connection] = {}

    def reader(self) -> InlineConnection:
        """The connection that reads."""
        return InlineConnection(self._connection("reader"))

    @asynccontextmanager
    async def writer(self) -> AsyncIterator[InlineConnection]:
        """The connection that writes, in a transaction."""
        async with self._turn:
            connection = self._connection("writer")
            driver = _driver_of(connection)
            await _begin(driver)
            try:
                yield InlineConnection(connection)
                if driver.in_transaction:  # a migration commits by itself
                    driver.execute("COMMIT")
            except BaseException:
                if driver.in_transaction:
                    driver.execute("ROLLBACK")
                raise

    def _connection(self, name: str) -> Connection:
        if name not in self._open:
            self._open[name] = self._engine.connect()
            if name == "writer":  # nothing waits but the first word of a transaction, and that by itself
                _driver_of(self._open[name]).execute("PRAGMA busy_timeout=0")
        return self._open[name]

    def close(self) -> None:
        """Close both."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()
        self._engine.dispose()


def _driver_of(connection: Connection) -> Any:
    return connection.connection.dbapi_connection


async def _begin(driver: Any) -> None:
    """Begin to write. While another process does, everything else of this one goes on."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            driver.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            await asyncio.sleep(_LOOK_AGAIN)
        else:
            return


class Database:
    """Connections to one pod's database. `read()` and `write()` give a connection in a transaction."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        """Open lazily; nothing is connected before the first statement."""
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self.usage = DatabaseUsage(_SQLITE_CONNECTIONS if self.is_sqlite else pool_size)
        if self.is_sqlite:
            self._file = SqliteFile(url)
        else:
            self._engine = create_async_engine(
                url,
                pool_size=pool_size,
                max_overflow=0,
                json_serializer=_json,
                json_deserializer=orjson.loads,
                connect_args={"server_settings": _PLANNING},
            )
            self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")  # two round trips less

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Reads; each statement sees the newest commit."""
        with _explained():
            if self.is_sqlite:
                self.usage.reads.number += 1  # it waits for nobody
                yield cast("AsyncConnection", self._file.reader())
                return
            with Turn(self.usage.reads) as turn:
                async with self._reading.connect() as connection:
                    turn.begin()
                    yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end of the block, or rolls back when it raises."""
        with _explained(), Turn(self.usage.writes) as turn:
            if self.is_sqlite:
                async with self._file.writer() as connection:
                    turn.begin()
                    yield cast("AsyncConnection", connection)
                return
            async with self._engine.begin() as asynchronous:
                turn.begin()
                yield asynchronous

    @asynccontextmanager
    async def write_once(self) -> AsyncIterator[AsyncConnection]:
        """For one statement that is a transaction of its own: it saves the words around it."""
        async with self.write() if self.is_sqlite else self.read() as connection:
            yield connection

    async def close(self) -> None:
        """Close every connection."""
        if self.is_sqlite:
            self._file.close()
        else:
            await self._engine.dispose()


def _sqlite(url: str) -> Engine:
    """An engine that begins no transaction by itself: the writer's own word does."""
    engine = create_engine(
        url.replace("+aiosqlite", ""),
        poolclass=NullPool,
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

    return engine


@contextmanager
def _explained() -> Iterator[None]:
    """Turn failures of the database itself into errors that a caller can act upon."""
    try:
        yield
    except (DBAPIError, ConnectionError, sqlite3.OperationalError, asyncpg.InternalClientError) as error:
        text = str(error).lower()
        if any(sign in text for sign in _FULL):
            raise StorageFull("The database has no room left; free space on its disk, then try again.") from error
        away = isinstance(error, _LOST) or getattr(error, "connection_invalidated", False)
        if away or any(sign in text for sign in _AWAY):
            raise Unavailable("The database is away; try again in a few seconds.") from error
        if str(getattr(getattr(error, "orig", None), "sqlstate", "")).startswith(_DATA_EXCEPTION):
            raise Invalid(_NOT_KEPT) from error
        raise
    except (OverflowError, UnicodeEncodeError) as error:  # what SQLite's driver says of the same
        raise Invalid(_NOT_KEPT) from error
