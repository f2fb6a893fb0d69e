"""Rows of bridges are carried out side by side, as many as there is room for; the others wait for nobody."""

import asyncio

import pytest
from sqlalchemy import ColumnElement, func, select, update

from loops.bridges import MAX_CONCURRENT, BridgeLoop
from models.repositories.pipelines import outbox
from models.rows.outbox import UnsentRow
from tests.application.bridges.installation import Installation
from tests.models.world import outbox_table
from tests.waiting import eventually

pytestmark = pytest.mark.both_databases


class Held(BridgeLoop):
    """Carries out nothing before it is let go on."""

    let_go = asyncio.Semaphore(0)

    async def carry_out(self, row: UnsentRow) -> None:
        await self.let_go.acquire()
        async with self._database.write() as connection:
            await outbox.mark_sent(connection, [row], self._services.clock())


async def test_no_row_is_held_that_nobody_carries_out(here: Installation) -> None:
    services, pipeline_id = here.site.services, await here.begin({".gitlab-ci.yml": "a: {script: make}\n"})
    rows = MAX_CONCURRENT + 5
    async with services.database.write() as connection:
        for _ in range(rows):
            await outbox.put(connection, outbox.FOLLOW, pipeline_id, services.clock())
    loop = Held(services)

    async def counted(*rules: ColumnElement[bool]) -> int:
        statement = select(func.count()).where(outbox_table.c.kind == outbox.FOLLOW, *rules)
        async with services.database.read() as connection:
            return int((await connection.execute(statement)).scalar_one())

    assert await loop.start_due() == MAX_CONCURRENT
    assert await loop.start_due() == 0
    loop.let_go.release()
    loop.let_go.release()

    started = 0

    async def two_more_are_started() -> bool:
        nonlocal started
        started += await loop.start_due()
        return started == 2 and await counted() == rows - 2

    await eventually(two_more_are_started, "two rows are done, two more are started")
    free = await counted(outbox_table.c.not_before <= services.clock())
    assert free == (rows if services.database.is_sqlite else rows - MAX_CONCURRENT) - 2
    await loop.stop()


async def test_a_row_that_cannot_be_carried_out_is_due_again(here: Installation) -> None:
    services, pipeline_id = here.site.services, await here.begin({".gitlab-ci.yml": "a: {script: make}\n"})
    async with services.database.write() as connection:
        await outbox.put(connection, outbox.FOLLOW, pipeline_id, services.clock())

    class Failing(BridgeLoop):
        async def carry_out(self, row: UnsentRow) -> None:
            raise ZeroDivisionError(row.id)

    loop = Failing(services)
    assert await loop.start_due() == 1
    async with services.database.write() as connection:  # as after the time for which it is held
        await connection.execute(update(outbox_table).values(not_before=services.clock()))

    async def is_due_again() -> bool:
        return await loop.start_due() == 1

    await eventually(is_due_again, "the row is due again")
    await loop.stop()
