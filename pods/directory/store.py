"""Transactions on the directory's database, and who waits for the next version.

SQLite syncs each commit to disk (`synchronous=FULL`), in a thread of its own. What has been committed is announced to
those who wait in this process, even if its caller is gone: one process serves a directory.
"""

import asyncio
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, TypeVar

import asyncpg
from sqlalchemy import Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.ext.asyncio import create_async_engine

from domain.errors import Unavailable
from pods.directory import tables

_PATIENCE_MS: Final = 15_000
"""So long a transaction waits for that of another process on SQLite."""
_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    f"PRAGMA busy_timeout={_PATIENCE_MS}",
)
_AWAY: Final = "The directory's database is away; try again in a few seconds."
_OURS: Final = (IntegrityError, ProgrammingError, DataError)
"""What tells of a fault of ours, not of a database that is away."""

Result = TypeVar("Result")
Work = Callable[[Connection], Result]

log = logging.getLogger("perdure.directory")


class _Database(Protocol):
    async def run(self, work: Work[Result], *, writes: bool) -> Result:
        """Do something in one transaction."""

    async def close(self) -> None:
        """Close every connection."""


class _SqliteFile:
    """One connection, used in one thread: transactions take turns."""

    def __init__(self, url: str) -> None:
        self._engine = _sqlite(url)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="directory")

    async def run(self, work: Work[Result], *, writes: bool) -> Result:
        del writes

        def transaction() -> Result:
            with self._engine.begin() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._thread, transaction)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.dispose)
        self._thread.shutdown()


class _Postgresql:
    def __init__(self, url: str) -> None:
        self._engine = create_async_engine(url, pool_pre_ping=True)
        self._snapshot = self._engine.execution_options(isolation_level="REPEATABLE READ")

    async def run(self, work: Work[Result], *, writes: bool) -> Result:
        async with (self._engine if writes else self._snapshot).begin() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        await self._engine.dispose()


class Store:
    """The database of a directory. Every method raises `Unavailable` while that is away."""

    def __init__(self, url: str, now: Callable[[], float] = time.time) -> None:
        """Connect lazily; `url` as SQLAlchemy takes it, `now` the clock in unix seconds."""
        self._database: _Database = _SqliteFile(url) if url.startswith("sqlite") else _Postgresql(url)
        self._now = now
        self._news = asyncio.Event()
        self._is_closing = False
        self.version = 0
        self.waiting = 0
        """How many readers wait for a later version."""
        self.epoch = secrets.token_hex(8)
        """Names this life of the service: a database that was restored has versions of another history."""

    async def open(self) -> None:
        """Make what is missing. Raises `Refused` for a database of a later version of Perdure."""
        await self._run(lambda connection: tables.prepare(connection, self.unix_time()), writes=True)
        self.version = await self._run(tables.read_version, writes=False)

    def unix_time(self) -> int:
        """The time by the clock of the store, in whole seconds."""
        return int(self._now())

    async def read(self, work: Work[Result]) -> Result:
        """What one state of the database tells."""
        return await self._run(work, writes=False)

    async def write(self, work: Callable[[Connection, int], tuple[Result, bool]]) -> Result:
        """One change. `work` is given the version that it makes, and says whether readers see anything of it.

        It goes on to its end, and is announced, when the caller is canceled meanwhile.
        """
        return await asyncio.shield(asyncio.ensure_future(self._write(work)))

    async def look_for(self, version: int) -> None:
        """Learn of a version that a reader has and this process does not know.

        It was made by a commit whose success was never heard of.
        """
        if version > self.version:
            self._is_now(await self._run(tables.read_version, writes=False))

    async def later_than(self, version: int, seconds: float) -> None:
        """Return when there is a later version, at the end of so many seconds, or when the service stops."""
        self.waiting += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while self.version <= version and not self._is_closing:
                        await self._news.wait()
        finally:
            self.waiting -= 1

    def let_go(self) -> None:
        """Nobody waits any more."""
        self._is_closing = True
        self._announce()

    async def close(self) -> None:
        """Close every connection."""
        await self._database.close()

    async def _write(self, work: Callable[[Connection, int], tuple[Result, bool]]) -> Result:
        def transaction(connection: Connection) -> tuple[Result, int]:
            before = tables.lock_version(connection)
            result, is_seen = work(connection, before + 1)
            if is_seen:
                tables.keep_version(connection, before + 1, self.unix_time())
            return result, before + is_seen

        result, version = await self._run(transaction, writes=True)
        if version < self.version:
            log.error("the database has gone back from version %d to %d: was it restored?", self.version, version)
            self.epoch = secrets.token_hex(8)
        self._is_now(version)
        return result

    def _is_now(self, version: int) -> None:
        if version != self.version:
            self.version = version
            self._announce()

    async def _run(self, work: Work[Result], *, writes: bool) -> Result:
        with _explained():
            return await self._database.run(work, writes=writes)

    def _announce(self) -> None:
        before, self._news = self._news, asyncio.Event()
        before.set()


def _sqlite(url: str) -> Engine:
    """An engine whose transactions have the lock of writers from their first word on."""
    engine = create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in _PRAGMAS:
            connection.execute(pragma).close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


@contextmanager
def _explained() -> Iterator[None]:
    """Failures of the database itself, as an error after which a caller tries again."""
    try:
        yield
    except _OURS:
        raise
    except (DBAPIError, sqlite3.Error, asyncpg.PostgresError, asyncpg.InternalClientError, OSError) as error:
        log.warning("the database: %s", error)
        raise Unavailable(_AWAY) from error
