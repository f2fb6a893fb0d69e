"""A database as it was at one moment, while everybody goes on writing: for backups.

SQLite is copied by `VACUUM INTO`: one read transaction, which under WAL holds up no writer, and the copy has no freed
pages. (The online backup API starts again whenever another process has written.) PostgreSQL is read by `COPY` within
one `REPEATABLE READ` transaction: that needs no `pg_dump` of the server's version beside us, and no file on the way.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from domain.errors import NotFound
from models.session import Database

PART: Final = 4 * 1024 * 1024
"""Bytes of a table that are handed over at once, at least."""

_TABLES: Final = text(
    "SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns FROM pg_class c "
    "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY c.relname ORDER BY c.relname"
)
_REFERENCES: Final = text(
    "SELECT conrelid::regclass::text AS source, confrelid::regclass::text AS target FROM pg_constraint "
    "WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conrelid <> confrelid"
)
_SEQUENCES: Final = text("SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public'")


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a table, in PostgreSQL's own text form."""

    table: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`connection` sees the database as it was. SQLite's whole copy is `file`; else `parts` gives the rows.

    `tables` are the columns by table, those that others refer to first; `sequences` the last number of each.
    """

    connection: AsyncConnection
    file: Path | None
    tables: dict[str, list[str]]
    sequences: dict[str, int]

    async def parts(self) -> AsyncIterator[Part]:
        """All rows, table by table."""
        raw = (await self.connection.get_raw_connection()).driver_connection
        for table, columns in self.tables.items():
            async for content in _copied(raw, table, columns):
                yield Part(table, content)


@asynccontextmanager
async def snapshot(url: str, scratch: Path) -> AsyncIterator[Snapshot]:
    """The database of that address, now. `scratch` is a path at which SQLite's copy may lie meanwhile.

    Raises `NotFound` when there is none.
    """
    if url.startswith("sqlite"):
        async with _sqlite(Path(url.partition("///")[2]), scratch) as found:
            yield found
    else:
        async with _postgres(url) as found:
            yield found


@asynccontextmanager
async def _sqlite(source: Path, scratch: Path) -> AsyncIterator[Snapshot]:
    _forget(scratch)
    try:
        await asyncio.to_thread(_vacuum, source, scratch)
        database = Database(f"sqlite:///{scratch}")
        try:
            async with database.read() as connection:
                yield Snapshot(connection, scratch, {}, {})
        finally:
            await database.close()
    finally:
        _forget(scratch)


def _vacuum(source: Path, target: Path) -> None:
    if not source.is_file():
        raise NotFound(f"There is no database {source}; is PERDURE_HOME right?")
    with target.open("xb") as file:  # SQLite takes an empty file for none, and keeps its mode
        target.chmod(0o600)
        file.flush()
    connection = sqlite3.connect(f"file:{source}?mode=rw", uri=True, timeout=30, isolation_level=None)
    try:
        connection.execute("VACUUM INTO ?", (str(target),))
    finally:
        connection.close()


def _forget(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


@asynccontextmanager
async def _postgres(url: str) -> AsyncIterator[Snapshot]:
    engine = create_async_engine(url, pool_size=1, isolation_level="REPEATABLE READ")
    try:
        async with engine.connect() as connection:
            await connection.execute(text("SET TRANSACTION READ ONLY"))
            found = {row.name: list(row.columns) for row in (await connection.execute(_TABLES)).all()}
            if "installation" not in found:
                raise NotFound("The database has no tables of Perdure; is PERDURE_DATABASE_URL right?")
            graph: dict[str, set[str]] = {name: set() for name in found}
            for row in (await connection.execute(_REFERENCES)).all():
                graph[row.source.strip('"')].add(row.target.strip('"'))
            order = [name for name in TopologicalSorter(graph).static_order() if name != "alembic_version"]
            last = (await connection.execute(_SEQUENCES)).all()
            yield Snapshot(
                connection,
                None,
                {name: found[name] for name in order},
                {row.sequencename: row.last_value or 0 for row in last},
            )
            await connection.rollback()
    finally:
        await engine.dispose()


async def _copied(raw: Any, table: str, columns: list[str]) -> AsyncIterator[bytes]:
    """The rows of a table, in pieces of `PART` bytes; no more than a few are held at a time."""
    pieces: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=2)

    async def work() -> None:
        held = bytearray()

        async def take(data: bytes) -> None:
            held.extend(data)
            if len(held) >= PART:
                await pieces.put(bytes(held))
                held.clear()

        try:
            await raw.copy_from_table(table, columns=columns, schema_name="public", output=take, format="text")
            if held:
                await pieces.put(bytes(held))
        finally:
            await pieces.put(None)

    running = asyncio.create_task(work())
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
        await running
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
