"""Putting a snapshot back: a database appears whole, with its ids and numbers moved on, or not at all."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from domain.errors import Invalid, Refused
from files import durable
from models.migrate import check_known, migrate
from models.migration_scripts import upgrade
from models.session import Database

Settle = Callable[[AsyncConnection], Awaitable[None]]
"""What is done to the rows before anybody sees them."""

_DROP: Final = text(
    "DO $$ DECLARE name text; BEGIN "
    "FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP "
    "EXECUTE format('DROP TABLE IF EXISTS public.%I CASCADE', name); END LOOP; END $$"
)
_HAS_TABLES: Final = text("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
_OTHERS: Final = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)


def sqlite_path(url: str) -> Path:
    """The file of a SQLite address."""
    return Path(url.partition("///")[2])


async def is_empty(url: str) -> bool:
    """Whether there is no database yet, or one without any table. Raises `Refused` while others are connected."""
    if url.startswith("sqlite"):
        return not sqlite_path(url).exists()
    engine = create_async_engine(url, pool_size=1)
    try:
        async with engine.connect() as connection:
            if (await connection.execute(_OTHERS)).scalar_one():
                raise Refused("Others are connected to the database; stop every process of Perdure first.")
            return not (await connection.execute(_HAS_TABLES)).scalar_one()
    finally:
        await engine.dispose()


async def put_sqlite(draft: Path, target: Path, settle: Settle) -> None:
    """Bring a copied file to the newest schema, settle its rows and give it its name. Raises `Invalid`."""
    database = Database(f"sqlite:///{draft}")
    try:
        await migrate(database)
        async with database.write() as connection:
            await settle(connection)
    except sqlite3.DatabaseError as error:
        raise Invalid(f"The database of the backup cannot be used: {error}.") from error
    finally:
        await database.close()
    await asyncio.to_thread(_give_name, draft, target)


def _give_name(draft: Path, target: Path) -> None:
    """Put a whole file, checked, in the place of what was there, durably."""
    connection = sqlite3.connect(draft)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        connection.close()
    if problem != "ok":
        raise Invalid(f"The database of the backup is damaged: {problem}.")
    durable.sync_file(draft)
    for what in ("wal", "shm"):
        target.with_name(f"{target.name}-{what}").unlink(missing_ok=True)
    draft.replace(target)
    durable.sync_folder(target.parent)


class PostgresTarget:
    """A database that is being filled, in one transaction."""

    def __init__(self, connection: AsyncConnection, raw: Any) -> None:
        """Of `open_postgres`."""
        self.connection = connection
        self._raw = raw

    async def put(self, table: str, columns: list[str], parts: AsyncIterator[bytes]) -> None:
        """The rows of a table."""
        await self._raw.copy_to_table(table, columns=columns, schema_name="public", source=parts, format="text")

    async def settle(self, sequences: Mapping[str, int], settle: Settle) -> None:
        """Bring the schema to the newest version, put the sequences where they were, settle the rows."""
        for name, last in sequences.items():
            if last:
                await self.connection.execute(text("SELECT setval(:name, :last)"), {"name": name, "last": last})
        await self.connection.run_sync(upgrade)
        await settle(self.connection)


@asynccontextmanager
async def open_postgres(url: str, revision: str) -> AsyncIterator[PostgresTarget]:
    """An empty database with the schema of that version; what was there is gone once the block has ended well."""
    check_known(revision)
    engine = create_async_engine(url, pool_size=1)
    try:
        async with engine.begin() as connection:
            await connection.execute(_DROP)
            await connection.run_sync(upgrade, revision)
            raw = (await connection.get_raw_connection()).driver_connection
            yield PostgresTarget(connection, raw)
    finally:
        await engine.dispose()
