"""Figures of the whole installation, as they are in rows."""

import pytest
from sqlalchemy import update

from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.installation.measurements import MAX_ROWS, Measurements, measure
from models.repositories.queue import leases
from models.tables.queue import QueueEntry
from tests.models.world import World

entry = table_of(QueueEntry)
CONFIG = """
build: {script: make}
test: {script: make, tags: [docker, big]}
gate: {script: make, when: manual}
"""


async def measured(world: World) -> Measurements:
    async with world.database.read() as connection:
        return await measure(connection)


async def test_an_empty_installation_has_nothing_that_waits(world: World) -> None:
    found = await measured(world)
    assert (found.queue, found.pipelines, found.jobs, found.unsent, found.leases) == ({}, {}, {}, {}, {})
    assert (found.unfolded.number, found.longest_silence, found.logs_to_move, found.tick_age) == (0, 0, 0, None)


async def test_the_queue_is_counted_by_list_of_tags_with_the_age_of_the_oldest(world: World) -> None:
    for _ in range(3):
        await world.begin(CONFIG)
    async with world.database.write() as connection:
        await connection.execute(update(entry).where(entry.c.job_id == 1).values(since=entry.c.since - 100))
    found = await measured(world)
    assert {tags: waiting.number for tags, waiting in found.queue.items()} == {(): 3, ("big", "docker"): 3}
    assert 100 <= found.queue[()].age < 160
    assert 0 <= found.queue["big", "docker"].age < 60
    assert found.jobs == {"pending": 6}
    assert found.pipelines == {("pending", "push"): 3}


async def test_a_look_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        await world.begin(CONFIG)
    monkeypatch.setitem(MAX_ROWS, "sqlite", 2)
    monkeypatch.setitem(MAX_ROWS, "postgresql", 2)
    found = await measured(world)
    assert sum(waiting.number for waiting in found.queue.values()) == 2
    assert (found.jobs, found.pipelines, found.unsent["start"].number) == ({"pending": 2}, {("pending", "push"): 2}, 2)


async def test_what_temporal_was_not_told_and_no_workflow_has_recorded_is_counted(world: World) -> None:
    pipeline_id = await world.begin("build: {script: make}")
    assert {kind: waiting.number for kind, waiting in (await measured(world)).unsent.items()} == {"start": 1}
    await world.end(await world.take())
    found = await measured(world)
    assert {kind: waiting.number for kind, waiting in found.unsent.items()} == {"start": 1, "outcome": 1}
    assert (found.unfolded.number, found.logs_to_move) == (1, 1)
    await world.settle(pipeline_id)
    found = await measured(world)
    assert (found.unfolded.number, found.unfolded.age) == (0, 0)


async def test_leases_and_the_silence_of_runners_are_counted(world: World) -> None:
    await world.begin(CONFIG)
    async with world.database.write() as connection:
        await leases.tick(connection, 5.0)
    await world.claim()
    found = await measured(world)
    assert (found.leases, found.longest_silence) == ({False: 1}, 0)
    for _ in range(2):
        async with world.database.write() as connection:
            await connection.execute(update(leases.clock).values(ticked_at=leases.clock.c.ticked_at - 5.0))
            assert await leases.tick(connection, 5.0) is not None
    found = await measured(world)
    assert found.longest_silence == 2
    assert found.tick_age is not None
    assert 0 <= found.tick_age < 5
    assert found.jobs[Status.RUNNING] == 1
    assert found.pipelines == {("running", "push"): 1}
