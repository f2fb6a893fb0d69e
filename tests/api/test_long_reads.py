"""Lists, pages, sweeps and removals that take long: everybody else is answered meanwhile, and the list is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import text

from domain.errors import TooLong
from loops.held_loop import HeldLoop
from loops.removals import RemovalLoop
from loops.sweeper import Sweeper
from models.session import Database
from settings import TimeLimits
from tests.api.v4.site import Site, open_site
from tests.waiting import HANGS, comes_true
from worker import Process

LIMIT: Final = 1.0
ENDLESS: Final = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n) > 0"
COUNTED: Final = f"SELECT {ENDLESS.replace('FROM n)', 'FROM n WHERE i < 100000)', 1)}"
HTML: Final = {"accept": "text/html"}


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation whose reads may take a second."""
    times = TimeLimits(queue_rescan=2 * HANGS, longest_read=LIMIT)
    async with open_site(tmp_path, database_url, times=times) as opened:
        yield opened


@asynccontextmanager
async def endless(database: Database, table: str) -> AsyncIterator[None]:
    """Whoever reads this table in the block would read for ever."""
    await _run(
        database,
        f"ALTER TABLE {table} RENAME TO kept_aside",
        f"CREATE VIEW {table} AS SELECT * FROM kept_aside WHERE {ENDLESS}",
    )
    try:
        yield
    finally:
        await _run(database, f"DROP VIEW {table}", f"ALTER TABLE kept_aside RENAME TO {table}")


async def _run(database: Database, *statements: str) -> None:
    async with database.write() as connection:
        for statement in statements:
            await connection.execute(text(statement))


async def answered_meanwhile(site: Site, *working: "asyncio.Task[Any]") -> int:
    """How many calls were answered before all of these tasks were done."""
    answers = 0
    async with site.client(site.root) as client, asyncio.timeout(HANGS):
        while not all(task.done() for task in working):
            for path in ("/-/liveness", f"/api/v4/projects/{site.world.project_id}"):
                assert (await client.get(path)).status_code == 200
            answers += 1
    return answers


@pytest.mark.both_databases
async def test_a_list_and_a_page_that_take_too_long_are_refused_in_words_and_hold_nobody_up(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": "one: {script: x}\n"})
    project = f"/api/v4/projects/{site.world.project_id}"
    schedule = {"description": "nightly", "ref": "main", "cron": "0 1 * * *"}
    async with site.client(site.root) as client:
        assert (await client.post(f"{project}/pipeline_schedules", json=schedule)).status_code == 201
        async with endless(site.services.database, "pipeline_schedule"):
            asked = asyncio.create_task(client.get(f"{project}/pipeline_schedules"))
            seen = asyncio.create_task(client.get(f"/{await site.path()}/-/pipeline_schedules", headers=HTML))
            assert await answered_meanwhile(site, asked, seen) > 1
    response, page = await asked, await seen
    assert (response.status_code, page.status_code) == (503, 503)
    assert response.json() == {"message": str(TooLong(LIMIT))}
    assert response.headers["retry-after"] == "60"
    assert "The database needs more than 1 s for this" in page.text


@pytest.mark.both_databases
async def test_a_sweep_that_reads_for_long_holds_nobody_up(site: Site) -> None:
    """Its tick is counted before."""
    services = site.services

    async def reachable() -> bool:
        return True

    parts = (services.database, services.notifications, services.clock, services.settings.times, reachable)
    await site.world.pipeline("one: {script: x}\n")
    await _run(services.database, "UPDATE queue_entry SET since = 0")
    async with endless(services.database, "queue_entry"):
        sweeping = asyncio.create_task(Sweeper(*parts).sweep())
        assert await answered_meanwhile(site, sweeping) > 1
    with pytest.raises(TooLong):
        await sweeping


async def test_a_removal_that_takes_long_holds_no_reader_up(tmp_path: Path, sqlite_url: str) -> None:
    """SQLite, where transactions that write take turns: a statement of a removal has all the time it needs."""
    async with open_site(tmp_path, sqlite_url) as site:
        services, project_id = site.services, site.world.project_id
        await _run(
            services.database,
            f"UPDATE project SET removal_asked_at = '2026-01-01 12:00:00' WHERE id = {project_id}",
            f"CREATE TRIGGER slow BEFORE DELETE ON project BEGIN SELECT {ENDLESS}; END",
        )
        parts = (services.repositories, services.notifications, services.clock)
        removing = asyncio.create_task(RemovalLoop(services.database, *parts).remove_marked())
        writes = services.database.usage.writes
        await comes_true(lambda: writes.open, "the removal has begun to write")
        async with site.client() as client:
            for _ in range(20):
                assert (await client.get("/-/liveness")).status_code == 200
                assert (await client.get(f"/api/v4/projects/{project_id}")).status_code == 404
        assert not removing.done()
        removing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(removing, HANGS)
        await _run(services.database, "DROP TRIGGER slow")
        assert await RemovalLoop(services.database, *parts).remove_marked() == 1


async def test_what_a_long_transaction_computes_is_no_outage_for_the_sweeper(tmp_path: Path, sqlite_url: str) -> None:
    """A tick waits for its turn meanwhile; the loop itself was never held up."""
    async with open_site(tmp_path, sqlite_url) as site:
        process = Process(site.services)
        process._held_loop = HeldLoop(clock=lambda: 0.0, computed=lambda: 0.0)
        held = process._sweeper()._held
        assert held() == 0
        async with site.services.database.write(is_long=True) as connection:
            await connection.execute(text(COUNTED))
        assert 0 < held() == site.services.database.usage.computed_aside
        await process._front.aclose()
