"""Each limit: until when nothing happens, when it does, and that an outage of ours costs nobody anything."""

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.messages import Command
from domain.pods.moving import Move
from models.repositories.installation.set_back_clock import SOON
from models.repositories.moves import moves
from models.repositories.pipelines import verdicts
from models.repositories.projects.projects import project
from models.repositories.queue import leases
from models.repositories.queue.leases import SilentLease
from models.rows.moves import OrganisationMoveRow
from tests.loops.sweeping import TICK, Sweeping
from tests.models.world import hand_out, job, outbox_table, touch

ONE = "one: {script: x}\n"
RUNS = ("running", "")
WAITS = ("pending", "")
TIMED_OUT = ("failed", "server_timeout_running")
LOST = ("failed", "runner_lost")
IN_VAIN = ("failed", "stuck_pending_no_matching_runners")
BUSY = ("failed", "stuck_pending_with_matching_runners")
HOUR = 3600
GRACE = 300
"""The default of the setting, as the default timeout of a project is an hour."""


async def test_a_job_that_runs_beyond_its_timeout_and_the_grace_is_ended(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    await sweeping.serve(HOUR + GRACE, alive=True)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK, alive=True)
    assert await sweeping.outcome() == TIMED_OUT
    assert len(await sweeping.world.rows(outbox_table, kind="outcome")) == 1


async def test_the_jobs_own_timeout_counts(sweeping: Sweeping) -> None:
    await sweeping.world.begin("one: {script: x, timeout: 10 minutes}\n")
    await sweeping.world.take()
    await sweeping.serve(600 + GRACE, alive=True)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK, alive=True)
    assert await sweeping.outcome() == TIMED_OUT


@pytest.mark.parametrize(("longest", "limit"), [(600, 600), (7200, HOUR)])
async def test_the_runners_own_limit_counts_if_it_is_shorter(sweeping: Sweeping, longest: int, limit: int) -> None:
    await sweeping.set_runner(maximum_timeout=longest)
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    await sweeping.serve(limit + GRACE, alive=True)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK, alive=True)
    assert await sweeping.outcome() == TIMED_OUT


async def test_a_job_that_times_out_is_retried_if_its_retry_says_so(sweeping: Sweeping) -> None:
    pipeline_id = await sweeping.world.begin("one: {script: x, retry: {max: 1, when: job_execution_timeout}}\n")
    await sweeping.world.take()
    await sweeping.serve(HOUR + GRACE + TICK, alive=True)
    await sweeping.world.settle(pipeline_id)
    assert await sweeping.outcome() == WAITS


async def test_an_outage_is_no_time_in_which_a_job_ran(sweeping: Sweeping) -> None:
    """Two hours away cost nothing, and the bonus after them counts for the timeout as it does for the lease."""
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    await sweeping.serve(HOUR + GRACE, alive=True)
    await sweeping.be_away(2 * HOUR)
    await sweeping.serve(595, alive=True)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK, alive=True)
    assert await sweeping.outcome() == TIMED_OUT


async def test_a_job_that_was_asked_to_stop_does_not_time_out(sweeping: Sweeping) -> None:
    """It has half an hour to clean up, whatever its timeout was."""
    pipeline_id = await sweeping.world.begin(ONE)
    await sweeping.world.take(cancel_gracefully=True)
    await sweeping.serve(HOUR + GRACE, alive=True)
    await sweeping.world.settle(pipeline_id, Command("cancel_pipeline", "k"))
    await sweeping.serve(60, alive=True)
    assert await sweeping.outcome() == ("canceling", "")


async def test_a_silent_runner_loses_its_job(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    await sweeping.serve(180)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK)
    assert await sweeping.outcome() == ("failed", "runner_lost")


async def test_the_log_of_a_lost_runner_is_incomplete(sweeping: Sweeping) -> None:
    """Nobody has said that all of it is here; nor has the runner of a job that ran too long, or did not stop."""
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    await sweeping.serve(180 + TICK)
    assert await sweeping.outcome() == ("failed", "runner_lost")
    assert (await sweeping.world.row(job, name="one")).log_incomplete


async def test_the_log_of_a_job_beyond_its_timeout_is_incomplete(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    await sweeping.serve(HOUR + GRACE + TICK, alive=True)
    assert (await sweeping.world.row(job, name="one")).log_incomplete


async def test_the_log_of_a_job_that_did_not_stop_is_incomplete(sweeping: Sweeping) -> None:
    await cancel(sweeping)
    await sweeping.serve(1810, alive=True)
    assert (await sweeping.world.row(job, name="one")).log_incomplete


async def test_a_job_that_nobody_had_begun_lacks_nothing_of_its_log(sweeping: Sweeping) -> None:
    await sweeping.world.begin("one: {script: x, tags: [gpu]}\n")
    await sweeping.serve(HOUR + 10)
    assert await sweeping.outcome() == IN_VAIN
    assert not (await sweeping.world.row(job, name="one")).log_incomplete


async def test_a_call_at_the_last_moment_keeps_the_job(sweeping: Sweeping, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep has seen a silent lease; before it writes, the runner calls."""
    await sweeping.world.begin(ONE)
    held = await sweeping.world.take()
    look = leases.still_silent

    async def after_a_call(connection: AsyncConnection, rows: Sequence[SilentLease], ticks: int) -> set[int]:
        assert await touch(connection, held, 1)
        return await look(connection, rows, ticks)

    monkeypatch.setattr(leases, "still_silent", after_a_call)
    await sweeping.serve(500)
    assert await sweeping.outcome() == RUNS


async def test_nobody_takes_up_a_hand_out(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    assert await sweeping.world.claim() is not None
    await sweeping.serve(60)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK)
    assert await sweeping.outcome() == WAITS


@pytest.mark.parametrize("state", [Move.HELD, Move.DRAINING])
async def test_a_silence_does_not_count_while_the_organisation_is_held(sweeping: Sweeping, state: Move) -> None:
    """What a runner has to say waits in the front then, for as long as it takes to copy what is new."""
    await sweeping.world.begin(ONE + "two: {script: x}\n")
    await sweeping.world.take()
    assert await sweeping.world.claim() is not None
    await turn_to(sweeping, state)
    for _ in range(50):
        await sweeping.sweep()
    found = [await sweeping.outcome(name) for name in ("one", "two")]
    assert found == ([RUNS, RUNS] if state is Move.HELD else [LOST, WAITS])
    await turn_to(sweeping, Move.CALLED_OFF)
    for _ in range(50):
        await sweeping.sweep()
    assert [await sweeping.outcome(name) for name in ("one", "two")] == [LOST, WAITS]


async def turn_to(sweeping: Sweeping, state: Move) -> None:
    """The organisation of the world is on its way to another pod."""
    async with sweeping.world.database.write() as connection:
        (organisation,) = (await connection.execute(select(project.c.organisation_id))).scalars()
        await connection.execute(delete(moves.move))
        now = sweeping.world.now()
        row = OrganisationMoveRow("m", organisation, "acme", "pod-2", 2, state, "", {}, now, now, None)
        await moves.begin(connection, row)


async def cancel(sweeping: Sweeping) -> int:
    """A job that was asked to stop and does not; its pipeline."""
    pipeline_id = await sweeping.world.begin(ONE)
    await sweeping.world.take(cancel_gracefully=True)
    await sweeping.world.settle(pipeline_id, Command("cancel_pipeline", "k"))
    assert await sweeping.outcome() == ("canceling", "")
    return pipeline_id


async def test_a_job_that_does_not_stop_is_ended_after_half_an_hour(sweeping: Sweeping) -> None:
    await cancel(sweeping)
    await sweeping.serve(1790, alive=True)
    assert await sweeping.outcome() == ("canceling", "")
    await sweeping.serve(20, alive=True)
    assert (await sweeping.outcome())[0] == "canceled"


async def test_an_attempt_that_does_not_stop_is_ended_although_it_was_retried(sweeping: Sweeping) -> None:
    pipeline_id = await cancel(sweeping)
    old = await sweeping.world.row(job, name="one")
    await sweeping.world.settle(pipeline_id, Command("retry_job", "again", old.id))
    assert (await sweeping.world.row(job, id=old.id)).retried
    await sweeping.serve(1810, alive=True)
    assert (await sweeping.world.row(job, id=old.id)).status == "canceled"
    assert await sweeping.outcome() == WAITS


async def test_after_an_outage_a_job_that_does_not_stop_gets_more_time(sweeping: Sweeping) -> None:
    await cancel(sweeping)
    await sweeping.be_away(2 * HOUR)
    await sweeping.serve(595, alive=True)
    assert await sweeping.outcome() == ("canceling", "")
    await sweeping.serve(TICK, alive=True)
    assert (await sweeping.outcome())[0] == "canceled"


async def test_a_job_that_no_runner_can_take_fails_after_an_hour(sweeping: Sweeping) -> None:
    await sweeping.world.begin("one: {script: x, tags: [gpu]}\n")
    await sweeping.serve(HOUR - 10)
    assert await sweeping.outcome() == WAITS
    await sweeping.serve(20)
    assert await sweeping.outcome() == IN_VAIN
    assert len(await sweeping.world.rows(outbox_table, kind="outcome")) == 1


async def test_a_job_that_a_busy_runner_can_take_waits_for_a_day(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.pass_time(24 * HOUR - 20)
    await sweeping.call(sweeping.world.runner_id)
    await sweeping.sweep()
    assert await sweeping.outcome() == WAITS
    await sweeping.serve(30)
    assert await sweeping.outcome() == BUSY


async def test_a_runner_that_is_silent_for_two_hours_does_not_count(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.serve(2 * HOUR - 20)
    assert await sweeping.outcome() == WAITS
    await sweeping.serve(30)
    assert await sweeping.outcome() == IN_VAIN


async def test_after_an_outage_nobody_who_waited_is_dropped_at_once(sweeping: Sweeping) -> None:
    """A night without us is no time in which a runner could have come."""
    await sweeping.world.begin("one: {script: x, tags: [gpu]}\n")
    await sweeping.be_away(10 * HOUR)
    await sweeping.serve(595)
    assert await sweeping.outcome() == WAITS
    await sweeping.serve(TICK)
    assert await sweeping.outcome() == IN_VAIN


async def test_a_freeze_of_our_own_gives_no_lease_anything(sweeping: Sweeping) -> None:
    """Who keeps us busy for two minutes, again and again, keeps no job of a dead runner."""
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    for _ in range(3):
        await sweeping.be_busy(120)
    await sweeping.serve(180 - 3 * TICK)
    assert await sweeping.outcome() == RUNS
    await sweeping.serve(TICK)
    assert await sweeping.outcome() == LOST


async def test_an_outage_in_which_we_were_busy_for_a_moment_is_one(sweeping: Sweeping) -> None:
    await sweeping.world.begin(ONE)
    await sweeping.world.take()
    sweeping.held += 20
    await sweeping.be_away(2 * HOUR)
    await sweeping.serve(595)
    assert await sweeping.outcome() == RUNS


async def test_a_job_that_is_handed_out_while_it_is_looked_at_stays(
    sweeping: Sweeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep has found a job that waits in vain; before it writes, a runner takes it."""
    world = sweeping.world
    await world.begin(ONE)
    end = verdicts.end_jobs

    async def after_a_claim(connection: AsyncConnection, *given: Any, **options: Any) -> list[int]:
        assert await hand_out(connection, world.runner(), world.now()) is not None
        return await end(connection, *given, **options)

    monkeypatch.setattr(verdicts, "end_jobs", after_a_claim)
    await sweeping.serve(25 * HOUR)
    assert await sweeping.outcome() == RUNS


async def test_a_bridge_waits_for_no_runner(sweeping: Sweeping) -> None:
    await sweeping.world.begin("one: {trigger: {project: acme/other}}\n")
    assert (await sweeping.world.row(job, name="one")).status == "pending"
    await sweeping.serve(25 * HOUR)
    assert await sweeping.outcome() == WAITS


MANY = "".join(f"j{number}: {{script: x, timeout: 10 minutes}}\n" for number in range(8))


async def test_one_sweep_ends_only_a_few_jobs_for_all_reasons_together(sweeping: Sweeping) -> None:
    """Of eight jobs two are never taken up, three are silent, three run too long: three a sweep are touched."""
    world = sweeping.world
    await world.begin(MANY)
    for _ in range(6):
        await world.take()
    for _ in range(2):
        await world.claim()
    await sweeping.pass_time(5000)
    await sweeping.keep_alive(jobs=3)
    for running in (5, 2, 0):
        await sweeping.sweep()
        assert await sweeping.count("running") == running


async def test_one_sweep_drops_only_a_few_jobs_that_wait(sweeping: Sweeping) -> None:
    await sweeping.world.begin(MANY)
    await sweeping.pass_time(25 * HOUR)
    for pending in (5, 2, 0):
        await sweeping.sweep()
        assert await sweeping.count("pending") == pending


async def test_a_clock_that_is_set_back_neither_lets_a_lost_runner_live_nor_an_outcome_wait(sweeping: Sweeping) -> None:
    await sweeping.world.begin("one: {script: x}\ntwo: {script: x}\n")
    ended, _ = await sweeping.world.take(), await sweeping.world.take()
    await sweeping.world.end(ended)
    await sweeping.set_back(HOUR)
    rows = await sweeping.world.rows(outbox_table, kind="outcome")
    assert [row.not_before <= sweeping.world.now() + SOON for row in rows] == [True]
    await sweeping.serve(180 + TICK)
    assert await sweeping.outcome("two") == LOST
