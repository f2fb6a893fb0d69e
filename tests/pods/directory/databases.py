"""Databases of directories: emptied ones, and one whose transactions are cut."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import pytest
from sqlalchemy import Connection, text

from pods.directory.store import Store
from pods.directory.tables import METADATA
from rigs.postgres import DRIVER


async def emptied(url: str) -> None:
    """A database on PostgreSQL has no tables of a directory any more."""
    connection = await asyncpg.connect(url.replace(DRIVER, "postgresql://"))
    await connection.execute(f"DROP TABLE IF EXISTS {', '.join(METADATA.tables)}")
    await connection.close()


async def as_of_schema_2(store: Store) -> None:
    """The database as a directory of schema 2 has left it."""

    def work(connection: Connection, _: int) -> tuple[None, bool]:
        for index in ("released", "counted"):
            connection.execute(text(f"DROP INDEX directory_claims_{index}"))
        for table, column in (("claims", "released_at"), ("state", "pruned_version"), ("state", "changed_at")):
            connection.execute(text(f"ALTER TABLE directory_{table} DROP COLUMN {column}"))
        connection.execute(text("UPDATE directory_state SET schema_number = 2"))
        return None, False

    await store.write(work)


@contextmanager
def cut(store: Store, fault: str) -> Iterator[None]:
    """Whoever writes hears that the database is away: `before` the commit, or else after it."""
    real = store._database.run

    async def run(work: Any, *, writes: bool) -> Any:
        def undone(connection: Any) -> Any:
            work(connection)
            raise OSError("cut before the commit")

        if writes and fault == "before":
            return await real(undone, writes=writes)
        found = await real(work, writes=writes)
        if writes:
            raise OSError("cut after the commit")
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store._database, "run", run)
        yield
