"""The unit of work: one transaction a `with` block, the same on SQLite and PostgreSQL.

On SQLite all writes go through one connection that begins with `BEGIN IMMEDIATE`: a transaction that reads first and
writes later fails at once under WAL, whatever the busy timeout (docs/seam.md, "SQLite").
"""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import asyncpg
import orjson
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from domain.errors import Invalid, StorageFull, TooLong, Unavailable
from models.database_usage import DatabaseUsage, Turn
from models.sqlite_file import CONNECTIONS, SqliteFile, as_json

_DATA_EXCEPTION = "22"
"""The class of PostgreSQL's error codes for values that a column cannot hold (its documentation, Appendix A)."""
_TIMEOUT = "canceling statement due to statement timeout"
"""What PostgreSQL says of a statement that took too long; its code means any cancel."""
_NOT_KEPT = "Bad request: a number is too large to be kept, or a text has a character that no database keeps (NUL)."

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


class Database:
    """Connections to one pod's database. `read()` and `write()` give a connection in a transaction."""

    def __init__(self, url: str, *, pool_size: int = 10, longest_read: float = 0) -> None:
        """Open lazily; nothing is connected before the first statement.

        A read that is not over after `longest_read` seconds is refused with `TooLong`; 0: it has all the time it needs.
        """
        self.url = url
        self.is_sqlite = url.startswith("sqlite")
        self._longest_read = longest_read
        if self.is_sqlite:
            self.usage = DatabaseUsage(CONNECTIONS)
            self._file = SqliteFile(url, longest_read, self.usage)
        else:
            self.usage = DatabaseUsage(2 * pool_size if longest_read else pool_size)
            self._engine = _postgresql(url, pool_size)
            self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")  # two round trips less
            # The limit belongs to a connection: to say it at each transaction would be a round trip more.
            self._readers = _postgresql(url, pool_size, longest_read) if longest_read else self._engine
            self._reading = self._readers.execution_options(isolation_level="AUTOCOMMIT")

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """Reads; each statement sees the newest commit."""
        with self._explained():
            if self.is_sqlite:
                self.usage.reads.number += 1  # it waits for nobody
                yield cast("AsyncConnection", self._file.reader())
                return
            with Turn(self.usage.reads) as turn:
                async with self._reading.connect() as connection:
                    turn.begin()
                    yield connection

    @asynccontextmanager
    async def write(self, *, is_long: bool = False) -> AsyncIterator[AsyncConnection]:
        """A transaction that commits at the end of the block, or rolls back when it raises.

        `is_long`: its statements may take long, and none of them runs in the thread of the event loop.
        """
        with self._explained(), Turn(self.usage.writes) as turn:
            if self.is_sqlite:
                async with self._file.writer(is_long=is_long) as connection:
                    turn.begin()
                    yield cast("AsyncConnection", connection)
                return
            async with self._engine.begin() as asynchronous:
                turn.begin()
                yield asynchronous

    @asynccontextmanager
    async def write_once(self) -> AsyncIterator[AsyncConnection]:
        """For one statement that is a transaction of its own: it saves the words around it."""
        if self.is_sqlite:
            async with self.write() as connection:
                yield connection
            return
        with self._explained(), Turn(self.usage.writes) as turn:
            async with self._single.connect() as connection:
                turn.begin()
                yield connection

    async def analyse(self) -> None:
        """Let SQLite's planner know what tables have, beside everybody else; PostgreSQL does so by itself."""
        if self.is_sqlite:
            with self._explained():
                await self._file.analyse()

    async def close(self) -> None:
        """Close every connection."""
        if self.is_sqlite:
            self._file.close()
            return
        for engine in {self._engine, self._readers}:
            await engine.dispose()

    @contextmanager
    def _explained(self) -> Iterator[None]:
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
            if _TIMEOUT in text:
                raise TooLong(self._longest_read) from error
            if str(getattr(getattr(error, "orig", None), "sqlstate", "")).startswith(_DATA_EXCEPTION):
                raise Invalid(_NOT_KEPT) from error
            raise
        except (OverflowError, UnicodeEncodeError) as error:  # what SQLite's driver says of the same
            raise Invalid(_NOT_KEPT) from error


def _postgresql(url: str, pool_size: int, longest: float = 0) -> AsyncEngine:
    limits = {"statement_timeout": str(round(longest * 1_000))} if longest else {}
    return create_async_engine(
        url,
        pool_size=pool_size,
        max_overflow=0,
        json_serializer=as_json,
        json_deserializer=orjson.loads,
        connect_args={"server_settings": _PLANNING | limits},
    )
