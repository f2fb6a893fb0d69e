"""Who holds a job, counted in ticks in which we served."""

from random import Random
from typing import Any

import pytest
from sqlalchemy import select, update

from domain.messages import Command
from domain.runners.leases import Silence
from models.columns import table_of
from models.repositories.pipelines.job_rows import stuck_canceling
from models.repositories.queue import leases
from models.tables.queue import Lease, LeaseClock
from tests.models.waiting import wait
from tests.models.world import World, job, touch

lease = table_of(Lease)
clock = table_of(LeaseClock)
EVERY = 5.0


async def tick(world: World, times: int = 1) -> None:
    """Let ticks be due and count them."""
    for _ in range(times):
        async with world.database.write() as connection:
            await connection.execute(update(clock).values(ticked_at=clock.c.ticked_at - EVERY))
            assert await leases.tick(connection, EVERY) is not None


async def away(world: World, seconds: float) -> leases.Tick | None:
    """Come back after so many seconds without a tick."""
    async with world.database.write() as connection:
        await connection.execute(update(clock).values(ticked_at=clock.c.ticked_at - seconds))
        return await leases.tick(connection, EVERY)


async def silent(world: World, ticks: int, *, taken_up: bool = True) -> list[int]:
    """Jobs without a call for more than `ticks`."""
    async with world.database.read() as connection:
        return [row.job_id for row in await leases.silent(connection, ticks, taken_up=taken_up)]


@pytest.fixture
async def ticking(world: World) -> World:
    """A world with a job to take, whose clock runs."""
    async with world.database.write() as connection:
        await leases.tick(connection, EVERY)
    await world.begin("one: {script: x}\n")
    return world


async def test_leases_count_time_in_which_we_served(ticking: World) -> None:
    """Hours without a tick cost a runner nothing; ticks without a call do."""
    held = await ticking.take()
    back = await away(ticking, 7200)
    assert back is not None
    assert back.gap == pytest.approx(7195, abs=3)
    assert await silent(ticking, 1) == []
    await tick(ticking, 3)
    assert await silent(ticking, 3) == [held]
    assert await silent(ticking, 4) == []


async def test_a_clock_that_was_set_back_counts_on(ticking: World) -> None:
    """Not only after it has come again to where it was."""
    held = await ticking.take()
    async with ticking.database.write() as connection:
        await connection.execute(update(clock).values(ticked_at=clock.c.ticked_at + 3600))
        back = await leases.tick(connection, EVERY)
        assert back is not None
        assert back.gap == 0
        assert back.set_back == pytest.approx(3600, abs=3)
        assert await leases.tick(connection, EVERY) is None
    await tick(ticking, 3)
    assert await silent(ticking, 3) == [held]


async def test_a_clock_that_is_a_little_ahead_is_waited_for(ticking: World) -> None:
    async with ticking.database.write() as connection:
        await connection.execute(update(clock).values(ticked_at=clock.c.ticked_at + 0.8 * EVERY))
        assert await leases.tick(connection, EVERY) is None


async def test_after_an_outage_every_lease_lives_longer(ticking: World) -> None:
    held = await ticking.take()
    async with ticking.database.write() as connection:
        await leases.extend_all(connection, 24)
    await tick(ticking, 24)
    assert await silent(ticking, 0) == []
    await tick(ticking, 1)
    assert await silent(ticking, 0) == [held]


async def test_a_stage_whose_only_job_goes_back_waits_again(ticking: World) -> None:
    """The pipeline goes on running: it ran once."""
    taken = await ticking.claim()
    assert taken is not None
    pipeline_id = (await ticking.row(job, id=taken[0])).pipeline_id
    assert await ticking.stages(pipeline_id) == {"test": "running"}
    await tick(ticking, 3)
    async with ticking.database.write() as connection:
        rows = await leases.silent(connection, 1, taken_up=False)
        assert await leases.put_back(connection, rows, ticking.now()) == [taken[0]]
    assert await ticking.stages(pipeline_id) == {"test": "pending"}
    assert await ticking.status(pipeline_id) == "running"


async def test_a_call_never_takes_back_the_bonus(ticking: World) -> None:
    held = await ticking.take()
    async with ticking.database.write() as connection:
        await leases.extend_all(connection, 24)
        before = (await connection.execute(lease.select())).one().contact
        assert await touch(connection, held, 1)
        assert (await connection.execute(lease.select())).one().contact == before


async def test_one_process_ticks_at_a_time(ticking: World) -> None:
    async with ticking.database.write() as connection:
        assert await leases.tick(connection, EVERY) is None
    await tick(ticking)
    assert (await ticking.row(clock)).ticks == 2


async def test_any_call_renews_the_lease(ticking: World) -> None:
    held = await ticking.take()
    await tick(ticking, 5)
    assert await silent(ticking, 4) == [held]
    async with ticking.database.write() as connection:
        assert await touch(connection, held, 1)
        assert await leases.unresponsive(connection, [held], 1) == set()
    assert await silent(ticking, 0) == []
    await tick(ticking, 2)
    async with ticking.database.read() as connection:
        assert await leases.unresponsive(connection, [held], 1) == {held}


async def test_a_call_of_another_hand_out_renews_nothing(ticking: World) -> None:
    held = await ticking.take()
    async with ticking.database.write() as connection:
        assert not await touch(connection, held, 2)
        assert await leases.held(connection) == 1


async def put_back(world: World, ticks: int) -> list[int]:
    """Put hand-outs back that nobody took up within `ticks`."""
    async with world.database.write() as connection:
        rows = await leases.silent(connection, ticks, taken_up=False)
        return await leases.put_back(connection, rows, world.now())


async def test_a_hand_out_without_any_call_goes_back_to_the_queue(ticking: World) -> None:
    taken = await ticking.claim()
    assert taken is not None
    await tick(ticking, 12)
    assert await put_back(ticking, 12) == []
    await tick(ticking)
    assert await put_back(ticking, 12) == [taken[0]]
    row = await ticking.row(job, name="one")
    assert (row.status, row.runner_id, row.system_id, row.started_at) == ("pending", None, "", None)
    assert await ticking.claim() == (taken[0], 2)
    async with ticking.database.write() as connection:
        assert not await touch(connection, taken[0], 1)


async def test_a_hand_out_that_was_taken_up_is_never_put_back(ticking: World) -> None:
    await ticking.take()
    await tick(ticking, 99)
    assert await put_back(ticking, 12) == []


async def test_a_call_at_the_last_moment_keeps_the_job(ticking: World) -> None:
    """The sweep has seen the lease untaken; before it writes, the runner calls."""
    taken = await ticking.claim()
    assert taken is not None
    await tick(ticking, 13)
    async with ticking.database.read() as connection:
        seen: Any = await leases.silent(connection, 12, taken_up=False)
    async with ticking.database.write() as connection:
        assert await touch(connection, *taken)
        assert await leases.put_back(connection, seen, ticking.now()) == []
    assert (await ticking.row(job, name="one")).status == "running"
    assert await ticking.claim() is None


async def test_an_untaken_job_that_was_canceled_meanwhile_is_not_offered_again(ticking: World) -> None:
    taken = await ticking.claim(cancel_gracefully=True)
    assert taken is not None
    await ticking.settle((await ticking.row(job, name="one")).pipeline_id, Command("cancel_pipeline", "k"))
    await tick(ticking, 13)
    assert await put_back(ticking, 12) == []
    assert (await ticking.row(job, name="one")).status == "canceling"
    async with ticking.database.read() as connection:
        assert await stuck_canceling(connection, -1) == [taken[0]]
        assert await stuck_canceling(connection, 60) == []
    ticking.seconds += 86_400 * 1000
    async with ticking.database.read() as connection:
        assert await stuck_canceling(connection, 60) == []
    await wait(ticking, 61)
    async with ticking.database.read() as connection:
        assert await stuck_canceling(connection, 60) == [taken[0]]


@pytest.mark.parametrize("seed", range(5))
async def test_sql_counts_a_silence_as_the_rule_does(ticking: World, seed: int) -> None:
    """Random ticks, outages and calls: after each of them the row says what `domain.runners.leases` says."""
    held, chance = await ticking.take(), Random(seed)
    at = (await ticking.row(clock)).ticks
    silence = runs = Silence(at, at)
    for _ in range(40):
        event = chance.choice(["tick", "tick", "call", "outage"])
        if event == "tick":
            await tick(ticking)
        async with ticking.database.write() as connection:
            now = (await connection.execute(select(clock.c.ticks))).scalar_one()
            if event == "call":
                assert await touch(connection, held, 1)
                silence = silence.broken(now)
            elif event == "outage":
                bonus = chance.randint(1, 9)
                await leases.extend_all(connection, bonus)
                silence, runs = silence.forgiven(bonus), runs.forgiven(bonus)
            row = (await connection.execute(lease.select())).one()
            assert (row.contact, row.since) == (silence.counted, runs.counted)
            for limit in (0, 3, 9):
                assert bool(await leases.silent(connection, limit, taken_up=True)) == silence.is_over(now, limit)


async def test_a_lease_that_an_older_process_wrote_gets_its_bonus_once(ticking: World) -> None:
    """It knows nothing of `called` and `claimed`."""
    held = await ticking.take()
    async with ticking.database.write() as connection:
        await connection.execute(update(lease).values(called=None, claimed=None, contact=7, since=3))
        for _ in range(3):
            await leases.extend_all(connection, 24)
        row = (await connection.execute(lease.select())).one()
        assert (row.contact, row.since) == (31, 27)
        assert await leases.unresponsive(connection, [held], 0) == set()
