"""Ticks: when one is counted, what an outage gives back, and how little one sweep may do."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from domain.messages import Command
from loops.sweeper import Sweeper
from models.columns import table_of
from models.notifications import Notifications
from models.repositories.queue import leases
from models.tables.queue import LeaseClock
from settings import TimeLimits
from tests.loops.sweeping import TICK, Sweeping
from tests.models.world import touch

ONE = "one: {script: x}\n"
RUNS = ("running", "")
LOST = ("failed", "runner_lost")
PATIENCE = 180
"""Seconds without a call after which a job is given up."""

clock = table_of(LeaseClock)


class Enough(BaseException):
    """Ends a loop that runs for ever."""


async def test_a_tick_is_counted_only_when_the_front_reaches_us(sweeping: Sweeping) -> None:
    """Three times the front does not answer, then it does; the database answers all the time."""
    world = sweeping.world
    seen: list[int] = []

    async def reachable() -> bool:
        seen.append((await world.row(clock)).ticks)
        if len(seen) > 20 or seen[-1] > seen[0]:
            raise Enough
        return len(seen) > 3

    hasty = TimeLimits(lease_tick=0.02)
    with pytest.raises(Enough):
        await Sweeper(world.database, Notifications(), world.now, hasty, reachable).run()
    assert seen[:4] == [1] * 4
    assert seen[-1] == 2


@pytest.mark.parametrize(("outage", "bonus"), [(60, 120), (300, 300), (7200, 600)])
async def test_after_an_outage_a_runner_has_as_much_more_time(sweeping: Sweeping, outage: int, bonus: int) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    await sweeping.be_away(outage + TICK)
    await sweeping.serve(PATIENCE + bonus - TICK)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK)
    assert await sweeping.outcome() == LOST


async def test_killed_between_the_tick_and_the_bonus_the_outage_is_found_again(
    sweeping: Sweeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.world.take()

    async def killed(*_: Any) -> None:
        raise InterruptedError("on purpose")

    with monkeypatch.context() as patched:
        patched.setattr(leases, "extend_all", killed)
        with pytest.raises(InterruptedError):
            await sweeping.be_away(7200)
    await sweeping.sweep()
    await sweeping.serve(PATIENCE + 600 - TICK)
    assert await sweeping.outcome() == RUNS


@pytest.mark.parametrize("jump", [86_400 * 2, 86_400 * 1000])
async def test_the_clock_of_the_process_does_not_count(
    sweeping: Sweeping, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    """It is months behind the database's, then jumps, also ahead of it: who holds a job, stops or waits goes on."""
    pipeline_id = await sweeping.world.begin(ONE)
    await sweeping.world.take(cancel_gracefully=True)
    await sweeping.world.settle(pipeline_id, Command("cancel_pipeline", "k"))
    await sweeping.world.begin("two: {script: x}\n")
    await sweeping.world.take()
    await sweeping.world.begin("three: {script: x, tags: [gpu]}\n")
    sweeping.world.seconds += jump
    monkeypatch.setattr("time.time", lambda: 4e9)
    before = (await sweeping.world.row(clock)).ticks
    await sweeping.sweep()
    row = await sweeping.world.row(clock)
    assert (row.ticks, row.calm_until) == (before + 1, 0)
    outcomes = [await sweeping.outcome(name) for name in ("one", "two", "three")]
    assert outcomes == [("canceling", ""), RUNS, ("pending", "")]


async def test_one_sweep_gives_up_no_more_than_five_in_a_hundred_and_raises_an_alarm(sweeping: Sweeping) -> None:
    await sweeping.world.begin("one: {script: x, parallel: 120}\n")
    for _ in range(120):
        await sweeping.world.take()
    with capture_logs() as said:
        await sweeping.serve(PATIENCE + TICK)
    assert await sweeping.count("running") == 114
    (alarm,) = [line for line in said if line["log_level"] == "error"]
    assert (alarm["what"], alarm["found"], alarm["most"]) == ("runners that are silent", 120, 6)
    await sweeping.sweep()
    assert await sweeping.count("running") == 109


async def test_outages_that_follow_each_other_give_a_silent_runner_one_bonus(sweeping: Sweeping) -> None:
    """Each of them is too short to be more than the least bonus, and none of them makes it start anew."""
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    served = 0.0
    while served + 100 <= PATIENCE + 120:
        assert await sweeping.outcome() == RUNS
        await sweeping.be_away(60 + TICK)
        await sweeping.serve(100 - TICK)
        served += 100
    await sweeping.serve(TICK)
    assert await sweeping.outcome() == LOST


async def test_outages_at_every_tick_do_not_keep_a_silent_runner(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    for _ in range(round((PATIENCE + 120) / TICK)):
        await sweeping.be_away(20 + TICK)
    assert await sweeping.outcome() == RUNS
    await sweeping.be_away(20 + TICK)
    assert await sweeping.outcome() == LOST


async def test_a_call_after_an_outage_earns_the_next_bonus(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    held = await sweeping.world.take()
    await sweeping.be_away(60 + TICK)
    async with sweeping.world.database.write() as connection:
        assert await touch(connection, held, 1)
    await sweeping.be_away(300 + TICK)
    await sweeping.serve(PATIENCE + 300 - TICK)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK)
    assert await sweeping.outcome() == LOST


async def test_outages_that_follow_each_other_give_a_job_beyond_its_timeout_one_bonus(sweeping: Sweeping) -> None:
    await sweeping.world.begin("one: {script: x, timeout: 10 minutes}\n")
    await sweeping.world.take()
    for _ in range(10):
        await sweeping.be_away(60 + TICK)
        await sweeping.serve(100 - TICK, alive=True)
    assert await sweeping.outcome() == RUNS, "600 s are its own, 300 s grace, 120 s the bonus"
    await sweeping.serve(20, alive=True)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK, alive=True)
    assert await sweeping.outcome() == ("failed", "server_timeout_running")
