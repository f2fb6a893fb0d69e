"""Ids of a pod: where they begin, where they end, and that none comes twice."""

import pytest
from sqlalchemy import inspect, text
from sqlmodel import SQLModel

from domain.pods.identity import PodIdentity
from models.repositories.installation import installations
from models.session import Database
from settings import Settings
from tests.models.world import BEGIN

ONE_ROW = {"installation", "lease_clock"}
"""Tables that hold one row, with id 1."""

WITH_IDS = sorted(
    table.name
    for table in SQLModel.metadata.tables.values()
    if [column.name for column in table.primary_key] == ["id"] and table.name not in ONE_ROW
)


async def numbers_sqlite(database: Database) -> dict[str, int]:
    """The last id of each table that never uses one again."""
    async with database.read() as connection:
        rows = (await connection.execute(text("SELECT name, seq FROM sqlite_sequence"))).all()
        made = (await connection.execute(text("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'"))).all()
    return {row.name: row.seq for row in rows if row.name in {table.name for table in made}}


async def numbers_postgresql(database: Database) -> dict[str, int]:
    """The number before the next one of each table's sequence."""
    found = {}
    async with database.read() as connection:
        names = await connection.run_sync(lambda plain: inspect(plain).get_sequence_names())
        for name in names:
            row = (await connection.execute(text(f'SELECT last_value, is_called FROM "{name}"'))).one()
            found[name.removesuffix("_id_seq")] = row.last_value - (not row.is_called)
    return found


async def test_the_ids_of_every_table_begin_at_the_pods_block_and_never_come_twice(database: Database) -> None:
    async with database.write() as connection:
        await installations.ensure(connection, PodIdentity("east", 3), BEGIN)
    found = await (numbers_sqlite if database.is_sqlite else numbers_postgresql)(database)
    assert {"job", "pipeline", "stage", "outbox", "runner", "project"} <= set(WITH_IDS)
    assert {name: found.get(name) for name in WITH_IDS} == dict.fromkeys(WITH_IDS, 3 * installations.BLOCK)


def test_no_id_is_larger_than_what_every_json_reader_can_hold() -> None:
    last = Settings(pod_number=8191).pod_number
    assert (last + 1) * installations.BLOCK <= 2**53
    with pytest.raises(ValueError, match="pod_number"):
        Settings(pod_number=8192)
