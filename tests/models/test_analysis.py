"""What SQLite's planner knows of tables: how large the large ones are, from the next statement on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from bench.growth.rows import multiply
from models.session import Database
from models.sqlite_file import LARGE
from rigs.ports import LOCAL
from tests.models.database import migrated
from tests.server import Server
from tests.waiting import HANGS, eventually


@pytest.fixture
async def file(sqlite_url: str) -> AsyncIterator[Database]:
    """A migrated database file."""
    async with migrated(Database(sqlite_url)) as database:
        yield database


async def run(database: Database, *statements: str) -> None:
    """Write something."""
    async with database.write() as connection:
        for statement in statements:
            await connection.execute(text(statement))


async def plan(database: Database) -> str:
    """How somebody is found whose one property everybody has."""
    async with database.read() as connection:
        found = await connection.execute(
            text("EXPLAIN QUERY PLAN SELECT * FROM people WHERE alive = 1 AND name = 'n7'")
        )
        return str(found.one().detail)


async def test_large_tables_are_counted_and_small_ones_forgotten_while_others_are_served(file: Database) -> None:
    """A table that was counted while it was small would be taken for small for a day."""
    await multiply(file, jobs=LARGE + 1_000, projects=2)
    async with file.read() as connection:
        counted = (await connection.execute(text("SELECT DISTINCT tbl FROM sqlite_stat1"))).scalars().all()
    assert {"job", "pipeline", "project"} <= set(counted)
    analysing = asyncio.create_task(file.analyse())
    served = 0
    while not analysing.done():
        await run(file, "UPDATE project SET description = description || '.'")
        served += 1
        await asyncio.sleep(0)
    await analysing
    assert served > 1
    async with file.read() as connection:
        rows = (await connection.execute(text("SELECT tbl, stat FROM sqlite_stat1"))).all()
        indices = text("SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'job'")
        number = (await connection.execute(indices)).scalar_one()
    assert "job" in {row.tbl for row in rows}
    small = {row.tbl: row.stat for row in rows if row.tbl in {"pipeline", "project", "lease"}}
    assert small == dict.fromkeys(("pipeline", "project", "lease"), str(LARGE // 10))  # far fewer than of a large one
    assert len([row for row in rows if row.tbl == "job"]) == number  # also partial ones that nothing is in


async def add_people(database: Database) -> None:
    """Make a table that is large enough to be counted."""
    people = (
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {LARGE}) SELECT 1, 'n' || i FROM n"
    )
    await run(database, "CREATE TABLE people (alive INTEGER, name TEXT)", f"INSERT INTO people {people}")
    await run(database, "CREATE INDEX by_name ON people (name)", "CREATE INDEX by_life ON people (alive)")


async def test_plans_follow_what_was_counted(file: Database) -> None:
    """Also those of connections that are open."""
    await add_people(file)
    assert "by_life" in await plan(file)
    await file.analyse()
    assert "by_name" in await plan(file)


async def test_a_server_counts_when_it_starts(tmp_path: Path) -> None:
    """A real one, whose Temporal is away: it takes some seconds."""
    server = Server(tmp_path, f"{LOCAL}:1")
    server.home.mkdir()
    async with migrated(Database(f"sqlite:///{server.home / 'perdure.db'}")) as database:
        await add_people(database)

        async def is_counted() -> bool:
            async with database.read() as connection:
                found = text("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'")
                if not (await connection.execute(found)).scalar_one():
                    return False
                counted = text("SELECT count(*) FROM sqlite_stat1 WHERE tbl = 'people'")
                return int((await connection.execute(counted)).scalar_one()) == 2

        await server.program.start()
        try:
            await eventually(is_counted, "both indices are counted", HANGS)
        finally:
            await server.program.kill()
