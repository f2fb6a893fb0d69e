"""SQLite: one connection writes, and says so with its first word."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import func, select

from models.repositories.namespaces.namespaces import create as create_namespace
from models.repositories.namespaces.namespaces import namespace
from models.session import Database
from settings import Settings
from tests.models.database import migrated
from tests.models.world import BEGIN
from tests.waiting import HANGS

COUNT = select(func.count()).select_from(namespace)
FOREIGN = """
INSERT INTO namespace (organisation_id, trail, path, full_path, name, kind, description, visibility, created_at)
VALUES (0, '', 'theirs', 'theirs', 'Theirs', 'group', '', 'private', '2026-01-01 12:00:00')
"""


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[Database]:
    """A migrated database file."""
    async with migrated(Database(Settings(home=tmp_path).database)) as database:
        yield database


async def organisations(database: Database) -> int:
    """How many there are."""
    async with database.read() as connection:
        return int((await connection.execute(COUNT)).scalar_one())


async def test_nobody_else_writes_between_the_read_and_the_write_of_a_transaction(file: Database) -> None:
    """A transaction that began to read and writes after a foreign commit fails at once, however patient it is."""
    foreign = sqlite3.connect(file.url.removeprefix("sqlite:///"), timeout=0)
    try:
        async with file.write() as connection:
            assert (await connection.execute(COUNT)).scalar_one() == 0
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                foreign.execute(FOREIGN)
            await create_namespace(connection, "ours", "Ours", BEGIN)
        with foreign:
            foreign.execute(FOREIGN)
    finally:
        foreign.close()
    assert await organisations(file) == 2


async def test_transactions_of_one_process_take_turns(file: Database) -> None:
    """The first one fails while the second one waits: what the second one writes is not rolled back with it."""
    waits = asyncio.Event()

    async def second() -> None:
        waits.set()
        async with file.write() as connection:
            await create_namespace(connection, "second", "Second", BEGIN)

    async def first() -> "asyncio.Task[None]":
        writing = asyncio.create_task(second())
        with suppress(InterruptedError):
            async with file.write() as connection:
                await create_namespace(connection, "first", "First", BEGIN)
                await waits.wait()
                assert not writing.done()
                raise InterruptedError
        return writing

    await (await first())
    assert await organisations(file) == 1


async def test_a_transaction_whose_task_is_cancelled_leaves_nothing_open(file: Database) -> None:
    """A runner that hangs up in the middle of its call does not keep everybody else from writing."""
    begun = asyncio.Event()

    async def never_ends() -> None:
        async with file.write() as connection:
            await create_namespace(connection, "first", "First", BEGIN)
            begun.set()
            await asyncio.Event().wait()

    writing = asyncio.create_task(never_ends())
    await begun.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    async with file.write() as connection:
        await create_namespace(connection, "second", "Second", BEGIN)
    assert await organisations(file) == 1


async def test_while_another_process_writes_everything_else_goes_on(file: Database) -> None:
    """The event loop serves runners while a transaction waits for its turn, and the turn comes."""
    foreign = sqlite3.connect(file.url.removeprefix("sqlite:///"), timeout=0, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")

    async def write() -> None:
        async with file.write() as connection:
            await create_namespace(connection, "ours", "Ours", BEGIN)

    writing = asyncio.create_task(write())
    try:
        for _ in range(3):
            assert await organisations(file) == 0
            await asyncio.sleep(0)
        assert not writing.done()
        foreign.execute(FOREIGN)
        foreign.execute("COMMIT")
        await asyncio.wait_for(writing, HANGS)
    finally:
        foreign.close()
    assert await organisations(file) == 2
