"""A statement that takes long holds up nobody else, and is refused when its time is over."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Select, String, cast, func, insert, literal, select

from domain.errors import TooLong
from models.repositories.namespaces.namespaces import create as create_namespace
from models.repositories.namespaces.namespaces import namespace
from models.session import Database
from settings import Settings
from tests.models.database import migrated
from tests.models.world import BEGIN
from tests.waiting import HANGS, comes_true

LONG = 300_000
"""Numbers whose count takes several times as long as a read may in the loop's thread."""


def numbers(most: int | None = None) -> Select[Any]:
    """How many numbers there are up to `most`; without it the count never ends."""
    every = select(literal(1).label("i")).cte("every", recursive=True)
    following = select(every.c.i + 1) if most is None else select(every.c.i + 1).where(every.c.i < most)
    return select(func.count()).select_from(every.union_all(following))


COUNT = select(func.count()).select_from(namespace)

Opened = Callable[[float], AbstractAsyncContextManager[Database]]


def opens(url: str) -> Opened:
    """Opens a database, for reads of so many seconds."""

    @asynccontextmanager
    async def open_it(longest_read: float) -> AsyncIterator[Database]:
        async with migrated(Database(url, longest_read=longest_read)) as database:
            yield database

    return open_it


@pytest.fixture
def opened(tmp_path: Path, database_url: str) -> Opened:
    """Either kind of database."""
    return opens(Settings(home=tmp_path, database_url=database_url).database)


@pytest.fixture
def file(sqlite_url: str) -> Opened:
    """SQLite, where transactions that write take turns in one process."""
    return opens(sqlite_url)


async def read(database: Database, statement: Select[Any] = COUNT) -> int:
    """What a read gives."""
    async with database.read() as connection:
        return int((await connection.execute(statement)).scalar_one())


async def add(database: Database, name: str) -> None:
    """Write something."""
    async with database.write() as connection:
        await create_namespace(connection, name, name.title(), BEGIN)


async def test_a_long_read_holds_nobody_up_and_ends_with_whoever_asked(opened: Opened) -> None:
    """Three of them, which is more than run at once."""
    async with opened(0) as database:
        asking = [asyncio.create_task(read(database, numbers())) for _ in range(3)]
        for number in range(20):
            await asyncio.sleep(0)  # SQLite gives nobody else a turn while statements are short
            await add(database, f"n{number}")
            assert await read(database) == number + 1
        assert not any(task.done() for task in asking)
        for task in asking:
            task.cancel()
        ends = await asyncio.wait_for(asyncio.gather(*asking, return_exceptions=True), HANGS)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends)
        assert await read(database, numbers(LONG)) == LONG


async def test_a_read_that_takes_too_long_is_refused_in_words(opened: Opened) -> None:
    """Also one that waits for its turn for as long."""
    async with opened(0.3) as database:
        asking = [asyncio.create_task(read(database, numbers())) for _ in range(3)]
        ends = await asyncio.wait_for(asyncio.gather(*asking, return_exceptions=True), HANGS)
        assert [type(end) for end in ends] == [TooLong] * 3
        assert "more than 0.3 s" in str(ends[0])
        assert "Ask for less" in str(ends[0])
        await add(database, "one")
        assert await read(database) == 1


async def test_a_long_read_of_a_transaction_sees_what_it_has_written(opened: Opened) -> None:
    """On SQLite it goes on in a thread, with the connection of the transaction."""
    both = select(numbers(LONG).scalar_subquery() * COUNT.scalar_subquery())
    async with opened(HANGS) as database:
        async with database.write() as connection:
            await create_namespace(connection, "one", "One", BEGIN)
            assert (await connection.execute(both)).scalar_one() == LONG
            await create_namespace(connection, "two", "Two", BEGIN)
            assert await read(database) == 0
        assert await read(database) == 2


async def test_a_transaction_with_too_long_a_read_is_refused_and_rolled_back(file: Opened) -> None:
    async with file(0.3) as database:

        async def work() -> None:
            async with database.write() as connection:
                await create_namespace(connection, "one", "One", BEGIN)
                await connection.execute(numbers())

        with pytest.raises(TooLong):
            await asyncio.wait_for(work(), HANGS)
        assert await read(database) == 0
        await add(database, "two")
        assert await read(database) == 1


async def test_a_long_transaction_holds_up_no_reader(file: Opened) -> None:
    """What it computes is counted, since a sweeper that waits for it must not take that for an outage."""
    endless = insert(namespace).from_select(["name"], select(cast(numbers().scalar_subquery(), String)))
    async with file(0.3) as database:

        async def work() -> None:
            async with database.write(is_long=True) as connection:
                await create_namespace(connection, "one", "One", BEGIN)
                await connection.execute(numbers(LONG))
                await connection.execute(endless)

        working = asyncio.create_task(work())
        await comes_true(lambda: database.usage.computed_aside, "it has computed")
        for _ in range(20):
            assert await read(database) == 0
        assert not working.done()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(working, HANGS)
        await add(database, "two")
        assert await read(database) == 1
