"""SQLite: a statement runs in the thread of the event loop for as long as it is short, and in one of its own beyond.

Short ones take some 25 microseconds, less than handing them to another thread and back, and nobody says beforehand
which is which: a read that is not over after `_BRIEF` is interrupted and begun anew beside the loop, where it has as
long as the database's `longest_read` says. What writes cannot be interrupted without rolling back its transaction, so
one whose statements may take long says so, and has all the time it needs: it takes a little at a time, since all others
wait.
"""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Any, Final

import orjson
from sqlalchemy import Connection, Dialect, Engine, NullPool, TextClause, bindparam, create_engine, event, text
from sqlalchemy.engine.cursor import FullyBufferedCursorFetchStrategy
from sqlalchemy.exc import OperationalError

from domain.errors import TooLong
from models.database_usage import DatabaseUsage

CONNECTIONS: Final = 4
"""One that writes, one that reads in the loop's thread, and two that read in threads of their own."""
_READERS_ASIDE: Final = CONNECTIONS - 2
READER, WRITER = "reader", "writer"
_PATIENCE: Final = 15.0
"""Seconds in which a transaction waits for that of another process."""
_LOOK_AGAIN: Final = 0.002
"""Seconds between two tries of that."""
_BRIEF: Final = 0.01
"""Seconds of the event loop that a read may take."""
_STEPS: Final = 1_000
"""So many steps of SQLite's machine lie between two looks at the clock, well below a millisecond."""
_STEPS_ASIDE: Final = 100_000
"""The same in a thread, which has to wait for the interpreter's lock whenever it looks."""
LARGE: Final = 10_000
"""So many rows make a table worth counting: the planner must not take one for small that will be large tomorrow."""
_COMMIT: Final = text("COMMIT")
_TABLES: Final = text("SELECT name FROM sqlite_schema WHERE type = 'table'")
_INDICES: Final = text("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = :name")
_EMPTY: Final = text(
    "INSERT INTO sqlite_stat1 SELECT tbl_name, name, '1 1' FROM sqlite_schema WHERE type = 'index' "
    "AND tbl_name IN (SELECT tbl FROM sqlite_stat1) AND name NOT IN (SELECT idx FROM sqlite_stat1 WHERE idx <> '')"
)
"""An index of no row leaves no word; then the planner takes it for one of many, and reads a larger one instead."""
_SMALL: Final = text(
    "INSERT INTO sqlite_stat1 SELECT name, NULL, :rows FROM sqlite_schema WHERE type = 'table' AND name IN :names"
).bindparams(bindparam("names", expanding=True))
"""A table of which nothing is said is taken for one of a million rows, and a large one is read before it."""
_FORGET: Final = text("DELETE FROM sqlite_stat1 WHERE tbl IN :names").bindparams(bindparam("names", expanding=True))

_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={_PATIENCE * 1_000:.0f}",
    "PRAGMA cache_size=-65536",
)


class _Interrupted(Exception):
    """A statement had no more time."""


class _Line:
    """One connection, whose statements end when their time is over: at `until` by `time.monotonic`."""

    def __init__(self, connection: Connection, steps: int) -> None:
        """Look at the clock after so many steps of a statement."""
        self.connection = connection
        self.driver: Any = connection.connection.dbapi_connection
        self.until = inf
        self.look_every(steps)

    def look_every(self, steps: int) -> None:
        """Change how often it looks at the clock."""
        self.driver.set_progress_handler(lambda: time.monotonic() > self.until, steps)

    def run(self, statement: Any, parameters: Any) -> Any:
        """Run a statement, and fetch what it finds: a read may work at each row. Raises `_Interrupted`."""
        try:
            result = self.connection.execute(statement, parameters)
            if result.cursor is not None and result.returns_rows:
                result.cursor_strategy = FullyBufferedCursorFetchStrategy(result.cursor)
        except (OperationalError, sqlite3.OperationalError) as error:
            of_driver: Any = getattr(error, "orig", error)
            if of_driver.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise _Interrupted from error
            raise
        else:
            return result
        finally:
            self.until = inf


class SqliteConnection:
    """A connection to SQLite behind the face of an `AsyncConnection`."""

    def __init__(self, file: "SqliteFile", name: str, *, is_long: bool = False) -> None:
        """Use the `reader` or the `writer`, which is in a transaction; `is_long`: no statement runs in the loop."""
        self._file = file
        self._name = name
        self._is_long = is_long

    @property
    def dialect(self) -> Dialect:
        """What kind of database this is."""
        return self._file.line(self._name).connection.dialect

    async def execute(self, statement: Any, parameters: Any = None) -> Any:
        """Run a statement."""
        line, writes = self._file.line(self._name), self._name == WRITER
        if writes:
            if self._is_long:
                return await self._file.write_aside(line, statement, parameters, inf)
            if not getattr(statement, "is_select", False):
                return line.connection.execute(statement, parameters)
        elif line.driver.in_transaction:  # begun by hand: no other connection knows of it
            return line.connection.execute(statement, parameters)
        line.until = time.monotonic() + _BRIEF
        try:
            return line.run(statement, parameters)
        except _Interrupted:
            if writes:
                return await self._file.write_aside(line, statement, parameters)
            return await self._file.read_aside(statement, parameters)

    async def run_sync(self, work: Callable[[Connection], Any]) -> Any:
        """Call a function with the connection itself, in the loop's thread."""
        return work(self._file.line(self._name).connection)


class SqliteFile:
    """Connections to a database file for as long as the process lives: one writes, one reads, and some read aside.

    The first two are used in the thread of the event loop, so a statement is over before another one begins.
    Transactions of the writer take turns; readers have none, each of their statements sees the newest commit.
    """

    def __init__(self, url: str, longest_read: float, usage: DatabaseUsage) -> None:
        """Connect lazily. A statement beside the loop may take `longest_read` seconds, 0: as long as it likes."""
        self._engine = sqlite_engine(url)
        self._longest = longest_read or inf
        self._usage = usage
        self._turn = asyncio.Lock()
        self._open: dict[str, _Line] = {}
        self._free: asyncio.LifoQueue[str] = asyncio.LifoQueue()
        for number in range(_READERS_ASIDE):
            self._free.put_nowait(f"aside {number}")
        self._threads = ThreadPoolExecutor(_READERS_ASIDE + 1, "sqlite")

    def reader(self) -> SqliteConnection:
        """The connection that reads."""
        return SqliteConnection(self, READER)

    @asynccontextmanager
    async def writer(self, *, is_long: bool = False) -> AsyncIterator[SqliteConnection]:
        """The connection that writes, in a transaction."""
        async with self._turn:
            line = self.line(WRITER)
            await _begin(line.driver)
            try:
                yield SqliteConnection(self, WRITER, is_long=is_long)
                if is_long:  # it may write into the file what the log beside it has
                    await self._run_aside(line, _COMMIT, None, inf)
                elif line.driver.in_transaction:  # a migration commits by itself
                    line.driver.execute("COMMIT")
            except BaseException:
                if line.driver.in_transaction:
                    line.driver.execute("ROLLBACK")
                raise

    async def read_aside(self, statement: Any, parameters: Any) -> Any:
        """Run a read in a thread; it waits for a free one, which counts as its time. Raises `TooLong`."""
        until = time.monotonic() + self._longest
        try:
            async with asyncio.timeout(self._longest if self._longest < inf else None):
                name = await self._free.get()
        except TimeoutError as error:
            raise TooLong(self._longest) from error
        try:
            return (await self._run_aside(self.line(name, _STEPS_ASIDE), statement, parameters, until))[0]
        finally:
            self._free.put_nowait(name)

    async def write_aside(self, line: _Line, statement: Any, parameters: Any, longest: float | None = None) -> Any:
        """Run a statement of the transaction that is under way in a thread. Raises `TooLong`."""
        line.look_every(_STEPS_ASIDE)
        try:
            until = time.monotonic() + (self._longest if longest is None else longest)
            result, computed = await self._run_aside(line, statement, parameters, until)
        finally:
            line.look_every(_STEPS)
        self._usage.computed_aside += computed
        return result

    async def _run_aside(self, line: _Line, statement: Any, parameters: Any, until: float) -> tuple[Any, float]:
        """The result, and the seconds that its thread computed. Whoever is cancelled ends the statement first."""

        def work() -> tuple[Any, float]:
            begun = time.thread_time()
            return line.run(statement, parameters), time.thread_time() - begun

        line.until = until
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.shield(running)
        except _Interrupted as error:
            raise TooLong(self._longest) from error
        except asyncio.CancelledError:
            line.until = -inf
            while not running.done():  # the connection is not free before
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({running})
            running.exception()
            line.until = inf
            raise

    async def analyse(self) -> None:
        """Let the planner know how large the large tables are, and what their indices tell apart.

        One index at a time: whoever writes waits for no more. Connections read that when they are opened.
        """
        line = _Line(self._engine.connect(), _STEPS_ASIDE)
        try:
            await self._take_turn(line, text("ANALYZE sqlite_schema"))  # makes the table of what is known
            small = []
            for table in (await self._run_aside(line, _TABLES, None, inf))[0].scalars().all():
                many = text(f'SELECT 1 FROM "{table}" LIMIT 1 OFFSET {LARGE - 1}')  # noqa: S608  # a name of ours
                if (await self._run_aside(line, many, None, inf))[0].first() is None:
                    small.append(table)
                    continue
                found, _ = await self._run_aside(line, _INDICES.bindparams(name=table), None, inf)
                for index in found.scalars():
                    await self._take_turn(line, text(f'ANALYZE "{index}"'))
            await self._take_turn(line, _FORGET.bindparams(names=small))
            await self._take_turn(line, _EMPTY)
            await self._take_turn(line, _SMALL.bindparams(names=small, rows=str(LARGE // 10)))
        finally:
            line.connection.close()
        async with self._turn:
            self._close(WRITER)
        self._close(READER)
        for name in [await self._free.get() for _ in range(_READERS_ASIDE)]:
            self._close(name)
            self._free.put_nowait(name)

    async def _take_turn(self, line: _Line, statement: TextClause) -> None:
        async with self._turn:
            _, computed = await self._run_aside(line, statement, None, inf)
        self._usage.computed_aside += computed

    def _close(self, name: str) -> None:
        if name in self._open:
            self._open.pop(name).connection.close()

    def line(self, name: str, steps: int = _STEPS) -> _Line:
        """The connection of this name; it is opened now if it is not yet."""
        if name not in self._open:
            self._open[name] = _Line(self._engine.connect(), steps)
            if name == WRITER:  # nothing waits but the first word of a transaction, and that by itself
                self._open[name].driver.execute("PRAGMA busy_timeout=0")
        return self._open[name]

    def close(self) -> None:
        """Close all."""
        self._threads.shutdown()
        for line in self._open.values():
            line.connection.close()
        self._open.clear()
        self._engine.dispose()


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


def as_json(value: Any) -> str:
    """A value as the JSON that a column keeps."""
    return orjson.dumps(value).decode()


def sqlite_engine(url: str) -> Engine:
    """An engine that begins no transaction by itself: the writer's own word does."""
    engine = create_engine(
        url.replace("+aiosqlite", ""),
        poolclass=NullPool,
        connect_args={"cached_statements": 512, "check_same_thread": False},
        json_serializer=as_json,
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
