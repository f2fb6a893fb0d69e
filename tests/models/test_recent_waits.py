"""What jobs had waited that were taken lately, and who waits now: read by an index, and never more than so much."""

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from sqlalchemy import insert, literal, select, update

from domain.runners.waits import WINDOW
from models.repositories.queue import recent_waits
from models.repositories.queue.demands import tag_key
from tests.models.query_plans import multiply, query_plan
from tests.models.world import World, job

LISTS = "plain: {script: x}\nmac: {script: x, tags: [mac]}\n"


async def lately(world: World, *tags: str) -> Mapping[int, Sequence[float]]:
    async with world.database.read() as connection:
        if tags:
            return dict(await recent_waits.of_tags(connection, tag_key(tags), world.now()))
        return dict(await recent_waits.of_all(connection, world.now()))


async def demand_of(world: World, name: str) -> int:
    return int((await world.row(job, name=name)).demand_id)


async def test_waits_are_read_from_the_times_of_the_jobs(world: World) -> None:
    await world.set_runner(tags=["mac"])
    await world.begin(LISTS)
    assert await lately(world) == {}
    first = await world.take()
    async with world.database.write() as connection:
        row = await world.row(job, id=first)
        earlier = row.started_at - timedelta(seconds=90)
        await connection.execute(update(job).where(job.c.id == first).values(queued_at=earlier))
    assert await lately(world) == {row.demand_id: [90.0]}
    await world.end(first)
    assert await lately(world) == {row.demand_id: [90.0]}, "also of one that has ended"


async def test_only_jobs_with_these_tags_are_read(world: World) -> None:
    await world.set_runner(tags=["mac"])
    await world.begin(LISTS)
    assert {await world.take(), await world.take()} == {row.id for row in await world.rows(job)}
    assert set(await lately(world)) == {await demand_of(world, "plain"), await demand_of(world, "mac")}
    assert set(await lately(world, "mac")) == {await demand_of(world, "mac")}
    assert await lately(world, "arm") == {}


async def test_what_was_taken_earlier_does_not_count(world: World) -> None:
    await world.begin("plain: {script: x}\n")
    await world.take()
    world.seconds += int(WINDOW) + 60
    assert await lately(world) == {}


async def test_bridges_do_not_count(world: World) -> None:
    await world.begin("plain: {script: x}\n")
    await world.take()
    async with world.database.write() as connection:
        await connection.execute(update(job).values(bridge=True))
    assert await lately(world) == {}


async def test_the_queue_and_the_loads_are_those_of_the_claim(world: World) -> None:
    await world.begin("a: {script: x}\nb: {script: x}\nc: {script: x}\n")
    ids = [row.id for row in await world.rows(job)]
    assert await world.take() == ids[0]
    async with world.database.read() as connection:
        assert await recent_waits.queue(connection) == {await demand_of(world, "b"): ids[1:]}
        assert await recent_waits.loads(connection) == {world.project_id: 1}


async def test_the_index_has_all_that_is_read(world: World) -> None:
    await world.begin("plain: {script: x}\n")
    taken = await world.take()
    await multiply(world, job, taken, lambda step: {"first_id": None, "started_at": world.now() - timedelta(days=step)})
    plan = await query_plan(world, recent_waits.TAKEN, {"b_since": world.now() - timedelta(seconds=WINDOW)})
    assert "job_by_started_at" in plan, plan
    if world.database.is_sqlite:
        assert "COVERING INDEX job_by_started_at" in plan, plan


@pytest.mark.slow  # 100,000 jobs are written: that a look stays as cheap is seen only where there are so many
async def test_a_look_costs_no_more_for_100000_jobs_of_an_hour(world: World) -> None:
    await world.begin("plain: {script: x}\n")
    await world.take()
    columns = [column for column in job.c if column.name not in {"id", "first_id"}]
    copied = select(*columns, literal(None)).where(job.c.started_at.is_not(None))

    async def grow(to: int) -> int:
        async with world.database.write() as connection:
            have = len((await connection.execute(select(job.c.id))).all())
            while have < to:
                some = copied.limit(to - have)
                await connection.execute(insert(job).from_select([*columns, job.c.first_id], some))
                have = min(to, 2 * have)
        return have

    costs = []
    for jobs in (12_500, 100_000):
        assert await grow(jobs) == jobs
        costs.append(min([await cost_of_a_look(world) for _ in range(5)]))
    few, many = costs
    # Eight times the jobs: a look at all of them would cost eight times as much, and a busy core half again.
    assert many <= 3 * few + 0.02, f"{few:.3f} s for 12,500 jobs, {many:.3f} s for 100,000"
    assert sum(len(waits) for waits in (await lately(world)).values()) == recent_waits.MAX_JOBS


async def cost_of_a_look(world: World) -> float:
    """Processor time of this process, in seconds; SQLite works in it, PostgreSQL beside it."""
    begin = time.process_time()
    await lately(world)
    return time.process_time() - begin
