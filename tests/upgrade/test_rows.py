"""Migrations keep every value of every row that the first version has stored."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, MetaData, Table, select

from models.migrate import migrate
from models.session import Database
from rigs.postgres import fresh_database
from tests.models.test_migrations import upgrade_to
from tests.upgrade import first_version
from tests.upgrade.first_version import Row, as_typed

pytestmark = pytest.mark.slow


async def test_rows_of_an_sqlite_database_stay_what_they_were(old_database: Path) -> None:
    before = first_version.rows_in(old_database)
    assert sum(map(len, before.values())) > 60
    database = Database(f"sqlite:///{old_database}")
    await migrate(database)
    await database.close()
    after = first_version.rows_in(old_database)
    for table, rows in before.items():
        known = [{name: row[name] for name in old} for row, old in zip(after[table], rows, strict=True)]
        assert known == rows, table


async def test_rows_of_a_postgresql_database_stay_what_they_were(old_database: Path, postgres: str) -> None:
    before = first_version.rows_in(old_database)
    async with fresh_database(postgres) as address:
        database = Database(address)
        async with database.write() as connection:
            await connection.run_sync(partial(upgrade_to, version=first_version.SCHEMA))
            await connection.run_sync(partial(first_version.copy_to_postgresql, rows=before))
        await migrate(database)
        async with database.read() as connection:
            for table, rows in before.items():
                expected, found = await connection.run_sync(partial(_both, name=table, rows=rows))
                for now, then in zip(found, expected, strict=True):
                    assert now == then, (table, {key: now[key] for key in now if now[key] != then[key]})
        await database.close()


def _both(connection: Connection, name: str, rows: list[Row]) -> tuple[Any, Any]:
    """The rows of a table as they were, and as they are now, without columns that are new; in one order."""
    table = Table(name, MetaData(), autoload_with=connection)
    found = [dict(row) for row in connection.execute(select(table)).mappings()]
    columns = list(rows[0]) if rows else []

    def in_order(items: Iterable[Row]) -> list[Row]:
        return sorted(items, key=lambda row: [str(row[column.name]) for column in table.primary_key])

    return (
        in_order(as_typed(table, row) for row in rows),
        in_order({column: row[column] for column in columns} for row in found),
    )
