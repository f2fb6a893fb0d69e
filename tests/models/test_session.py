"""Transactions."""

import asyncio

import pytest
from sqlalchemy import func, select, text

from domain.errors import Unavailable
from models.repositories.namespaces.namespaces import create as create_namespace
from models.repositories.namespaces.namespaces import namespace
from models.session import Database
from tests.models.world import BEGIN


async def organisations(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(namespace))).scalar_one())


async def test_a_block_that_raises_leaves_nothing_behind(database: Database) -> None:
    async def fail() -> None:
        async with database.write() as connection:
            await create_namespace(connection, "one", "One", BEGIN)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        await fail()
    assert await organisations(database) == 0


async def test_writers_that_read_first_wait_for_each_other(database: Database) -> None:
    async def add(number: int) -> None:
        async with database.write() as connection:
            await connection.execute(select(func.count()).select_from(namespace))
            await create_namespace(connection, f"o{number}", "Some", BEGIN)

    await asyncio.gather(*(add(number) for number in range(20)))
    assert await organisations(database) == 20


async def test_a_reader_does_not_wait_for_a_writer(database: Database) -> None:
    async with database.write() as connection:
        await create_namespace(connection, "one", "One", BEGIN)
        assert await organisations(database) == 0
    assert await organisations(database) == 1


async def test_a_database_that_cannot_be_reached_is_unavailable() -> None:
    for url in ("sqlite+aiosqlite:////no/such/folder/file.db", "postgresql+asyncpg://nobody@127.0.0.1:1/none"):
        database = Database(url)
        with pytest.raises(Unavailable, match="try again"):
            async with database.read() as connection:
                await connection.execute(text("SELECT 1"))
        await database.close()
