"""What the reconciler looks at."""

from datetime import timedelta

import pytest

from models.repositories.pipelines import outbox, unfinished
from tests.models.world import BEGIN, World


async def started(world: World, pipeline_id: int) -> None:
    """Temporal has taken the start of a pipeline."""
    rows = await world.outbox(pipeline_id, outbox.START)
    async with world.database.write() as connection:
        await outbox.mark_sent(connection, rows, world.now())


async def page(world: World, **more: int) -> list[int]:
    """What is unfinished an hour later."""
    async with world.database.read() as connection:
        return list(await unfinished.page(connection, world.now() + timedelta(hours=1), **more))


async def test_pipelines_are_unfinished_from_their_start_to_their_end(world: World) -> None:
    done = await world.begin("one: {script: x}\n")
    await started(world, done)
    assert await page(world) == [done]
    await world.end(await world.take())
    await world.settle(done)
    busy = await world.begin()
    assert await page(world) == []  # its start is under way
    await started(world, busy)
    assert await page(world) == [busy]
    async with world.database.read() as connection:
        assert await unfinished.page(connection, BEGIN) == []


async def test_what_was_written_before_the_clock_was_set_back_is_old(world: World) -> None:
    pipeline_id = await world.begin("a: {script: x}\nb: {script: y}\n")
    await started(world, pipeline_id)
    await world.end(await world.take())
    async with world.database.write() as connection:
        await outbox.mark_sent(connection, await world.outbox(pipeline_id, outbox.OUTCOME), world.now())
        for hours, found in ((0.5, []), (3.0, [pipeline_id])):
            before = BEGIN - timedelta(hours=hours)
            assert list(await unfinished.page(connection, before)) == found
            assert list(await unfinished.unfolded(connection, before)) == found


async def test_there_is_a_page_after_the_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [await world.begin() for _ in range(3)]
    for pipeline_id in made:
        await started(world, pipeline_id)
    monkeypatch.setattr(unfinished, "_PAGE", unfinished._PAGE.limit(2))
    assert await page(world) == made[:2]
    assert await page(world, after=made[1]) == made[2:]
    assert await page(world, after=made[2]) == []


async def test_the_newest_outcome_that_nobody_folded_is_named(world: World) -> None:
    pipeline_id = await world.begin("a: {script: x}\nb: {script: y}\n")
    for _ in range(2):
        await world.end(await world.take())
        newest = (await world.outbox(pipeline_id, outbox.OUTCOME))[-1]
        async with world.database.write() as connection:
            assert (await unfinished.unfolded(connection, world.now())).get(pipeline_id, 0) < newest.id
            await outbox.mark_sent(connection, [newest], world.now())
            assert await unfinished.unfolded(connection, BEGIN) == {}
            assert await unfinished.unfolded(connection, world.now()) == {pipeline_id: newest.id}
