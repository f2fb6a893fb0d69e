"""How a process uses its database: what the metrics tell of it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from models.session import Database
from tests.waiting import eventually


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """One with a single connection for those who write."""
    opened = Database(database_url, pool_size=1)
    yield opened
    await opened.close()


async def write_something(database: Database) -> None:
    async with database.write() as connection:
        await connection.execute(text("SELECT 1"))


async def test_transactions_and_who_waits_for_one_are_counted(database: Database) -> None:
    """The second writer waits for the first, on either database."""
    may_end = asyncio.Event()

    async def first() -> None:
        async with database.write() as connection:
            await connection.execute(text("SELECT 1"))
            await may_end.wait()

    async def one_waits() -> bool:
        return (usage.open, usage.waiting) == (1, 1)

    usage = database.usage.writes
    tasks = [asyncio.create_task(work) for work in (first(), write_something(database))]
    await eventually(one_waits, "one writes, one waits")
    may_end.set()
    await asyncio.gather(*tasks)
    assert (usage.number, usage.open, usage.waiting) == (2, 0, 0)
    assert usage.waited > 0
    assert usage.took > 0


async def test_who_gives_up_waiting_waits_no_more(database: Database) -> None:
    usage = database.usage.writes
    async with database.write():
        waiting = asyncio.create_task(write_something(database))

        async def waits() -> bool:
            return usage.waiting == 1

        await eventually(waits, "the second one waits")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert (usage.waiting, usage.open) == (0, 1)
    assert (usage.number, usage.open) == (1, 0)


async def test_reads_are_counted(database: Database) -> None:
    for _ in range(3):
        async with database.read() as connection:
            await connection.execute(text("SELECT 1"))
    assert database.usage.reads.number == 3
