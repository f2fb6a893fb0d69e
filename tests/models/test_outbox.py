"""What SQL tells Temporal."""

import asyncio
from datetime import timedelta

import pytest

from domain.messages import Decision
from domain.pipelines.status import Status
from models.repositories.pipelines import outbox, unfinished
from models.repositories.pipelines.verdicts import outcomes
from tests.models.world import World, outbox_table
from tests.waiting import HANGS


async def test_outbox_rows_are_taken_unsent(world: World) -> None:
    """Whatever the order of ids: a row that commits late is sent late, never lost."""
    made = [await world.create() for _ in range(3)]
    async with world.database.write() as connection:
        rows = await outbox.unsent(connection, world.now(), 10)
        assert [row.pipeline_id for row in rows] == made
        await outbox.mark_sent(connection, [rows[2]], world.now())
    async with world.database.write() as connection:
        assert [row.pipeline_id for row in await outbox.unsent(connection, world.now(), 10)] == made[:2]
        assert [row.pipeline_id for row in await outbox.unsent(connection, world.now(), 1)] == made[:1]


async def test_two_relays_never_hold_the_same_row(world: World) -> None:
    if world.database.is_sqlite:
        pytest.skip("on SQLite one process has the only relay")
    for _ in range(4):
        await world.create()
    async with world.database.write() as one, world.database.write() as two:
        mine = {row.id for row in await outbox.unsent(one, world.now(), 2)}
        others = {row.id for row in await asyncio.wait_for(outbox.unsent(two, world.now(), 10), HANGS)}
        assert len(mine) == len(others) == 2
        assert mine.isdisjoint(others)


async def test_a_row_that_failed_backs_off_by_itself(world: World) -> None:
    first, second = await world.create(), await world.create()
    now = world.now()
    (row,) = await world.outbox(first, outbox.START)
    async with world.database.write() as connection:
        for attempts, pause in enumerate((0.5, 1, 2, 4, 8, 16, 30, 30)):
            await outbox.back_off(connection, row.id, attempts, "away" * 200, now)
            early = await outbox.unsent(connection, now + timedelta(seconds=pause - 0.1), 10)
            assert [found.pipeline_id for found in early] == [second]
            due = await outbox.unsent(connection, now + timedelta(seconds=pause), 10)
            assert [found.pipeline_id for found in due] == [first, second]
    (row,) = await world.outbox(first, outbox.START)
    assert (row.attempts, len(row.error)) == (8, 500)


async def test_only_folding_retires_an_outcome(world: World) -> None:
    """Sending it is not enough: Temporal may lose it."""
    pipeline_id = await world.begin()
    build = await world.take()
    await world.end(build)
    (row,) = await world.outbox(pipeline_id, outbox.OUTCOME)
    async with world.database.write() as connection:
        await outbox.mark_sent(connection, [row], world.now())
        assert await unfinished.unfolded(connection, world.now()) == {pipeline_id: row.id}
    assert len(await world.outbox(pipeline_id, outbox.OUTCOME)) == 1
    await world.record(world.numbered(Decision(pipeline_id)))
    assert len(await world.outbox(pipeline_id, outbox.OUTCOME)) == 1
    await world.settle(pipeline_id)
    assert list(await world.outbox(pipeline_id, outbox.OUTCOME)) == []


async def test_a_verdict_and_its_bell_are_one_transaction(world: World) -> None:
    pipeline_id = await world.begin()
    build = await world.take()
    assert list(await world.outbox(pipeline_id, outbox.OUTCOME)) == []
    assert await world.end(build, Status.FAILED, reason="script_failure", exit_code=2) == [build]
    assert [row.job_id for row in await world.outbox(pipeline_id, outbox.OUTCOME)] == [build]
    async with world.database.read() as connection:
        outcome = (await outcomes(connection, [build]))[build]
    assert not outcome.folded
    verdict = outcome.verdict
    assert (verdict.status, verdict.reason, verdict.exit_code) == (Status.FAILED, "script_failure", 2)
    await world.settle(pipeline_id)
    async with world.database.read() as connection:
        assert (await outcomes(connection, [build]))[build].folded


async def test_a_held_row_is_due_again_when_its_relay_died(world: World) -> None:
    await world.create()
    now = world.now()
    (row,) = await world.rows(outbox_table)
    async with world.database.write() as connection:
        await outbox.hold(connection, [row.id], now)
        assert list(await outbox.unsent(connection, now, 10)) == []
        assert [found.id for found in await outbox.unsent(connection, now + timedelta(seconds=8), 10)] == [row.id]
