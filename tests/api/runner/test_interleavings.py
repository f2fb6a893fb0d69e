"""A runner's call and something else that writes the same job, one of them held between two of its steps."""

import asyncio
from typing import Any

import pytest

from api.runner import updates
from domain.messages import Decision
from models.columns import table_of
from models.repositories.logs import trace_chunks, traces
from models.repositories.pipelines import decisions, verdicts
from models.repositories.queue import leases
from models.tables.queue import LeaseClock
from tests.api.runner.silence import let_pass, swept_beside
from tests.api.runner.world import World
from tests.fault_point import WITHIN, held_at, is_blocked, side_by_side

pytestmark = pytest.mark.both_databases

clock = table_of(LeaseClock)

ONE = "one: {script: x}\n"


async def taken(world: World, config: str = ONE) -> dict[str, Any]:
    """A job for which its runner has sent a log."""
    await world.pipeline(config)
    job = await world.job()
    assert (await world.patch(job, 0, b"the log")).status_code == 202
    return job


async def status(world: World, job: dict[str, Any]) -> str:
    """The job's status."""
    return str((await world.row(job["id"])).status)


async def test_the_runner_hears_what_the_row_says(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict has looked and is about to be written, while a sweep would give the job up."""
    side_by_side(world.services.database)
    job = await taken(world)
    sweeper = await let_pass(world, 190)
    put = world.put(job, "success", b"the log")
    async with swept_beside(monkeypatch, updates, "_log_is_right", put, sweeper) as response:
        assert (response.result().status_code, await status(world, job)) == (200, "success")


async def test_a_job_that_is_given_up_before_its_verdict_has_looked_refuses_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep has the job and has not committed: the verdict waits for it."""
    side_by_side(world.services.database)
    job = await taken(world)
    sweeper = await let_pass(world, 190)
    async with held_at(monkeypatch, verdicts, "end_jobs", sweeper.sweep()):
        response = asyncio.create_task(world.put(job, "success", b"the log"))
        assert await is_blocked(response)
    heard = await asyncio.wait_for(response, WITHIN)
    assert (heard.status_code, heard.headers["job-status"]) == (403, "failed")
    assert await status(world, job) == "failed"


async def test_a_log_is_not_begun_anew_while_its_job_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is about to see another checksum than its own; a sweep would give the job up and freeze the log."""
    side_by_side(world.services.database)
    job = await taken(world)
    sweeper = await let_pass(world, 190)
    put = world.put(job, "success", b"THE LOG")
    async with swept_beside(monkeypatch, updates, "_log_is_right", put, sweeper) as response:
        assert (response.result().status_code, await status(world, job)) == (412, "running")
    assert (await world.patch(job, 0, b"THE LOG")).status_code == 202
    assert (await world.put(job, "success", b"THE LOG")).status_code == 200


async def test_a_log_that_stays_wrong_ends_its_job_while_a_sweep_would(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write the job and its log, in the same order."""
    side_by_side(world.services.database)
    job = await taken(world)
    assert (await world.put(job, "success", b"THE LOG")).status_code == 412
    assert (await world.patch(job, 0, b"no log")).status_code == 202
    sweeper = await let_pass(world, 190)
    put = world.put(job, "success", b"THE LOG")
    async with swept_beside(monkeypatch, traces, "settle", put, sweeper, behind=True) as response:
        assert (response.result().status_code, await status(world, job)) == (200, "success")
    assert (await world.row(job["id"])).log_incomplete


async def test_a_verdict_as_the_first_call_meets_the_hand_out_being_put_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write the job and its lease, in the same order."""
    side_by_side(world.services.database)
    await world.pipeline(ONE)
    job = await world.job()
    sweeper = await let_pass(world, 70)
    async with held_at(monkeypatch, leases, "set_status", sweeper.sweep()):
        response = asyncio.create_task(world.put(job, "success", b""))
        assert await is_blocked(response)
    heard = await asyncio.wait_for(response, WITHIN)
    assert (heard.status_code, heard.headers["job-status"]) == (403, "pending")
    assert await status(world, job) == "pending"
    assert (await world.job())["id"] == job["id"]


SILENCES = pytest.mark.parametrize(("silence", "is_first"), [(190, False), (70, True)])
"""After which the job is given up, or put back when nobody took it up."""


async def silent_job(world: World, *, is_first: bool) -> dict[str, Any]:
    """A job whose runner sends its next piece now; it may be the first that we hear of it."""
    if not is_first:
        return await taken(world)
    await world.pipeline(ONE)
    return await world.job()


@SILENCES
async def test_a_piece_of_log_at_the_last_moment_keeps_the_job(world: World, silence: float, is_first: bool) -> None:
    """The piece has renewed the lease and waits for the log; the sweep has the job."""
    side_by_side(world.services.database)
    job = await silent_job(world, is_first=is_first)
    sweeper = await let_pass(world, silence)
    async with world.services.database.write() as connection:
        await connection.execute(traces.trace.select().with_for_update())
        piece = asyncio.create_task(world.patch(job, 0 if is_first else 7, b"more"))
        assert await is_blocked(piece)
        sweeping = asyncio.create_task(sweeper.sweep())
        assert await is_blocked(sweeping)
    await asyncio.wait_for(asyncio.gather(piece, sweeping), WITHIN)
    assert (piece.result().status_code, await status(world, job)) == (202, "running")


@SILENCES
async def test_a_piece_of_log_that_was_looked_at_before_the_sweep_and_not_written_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, silence: float, is_first: bool
) -> None:
    side_by_side(world.services.database)
    job = await silent_job(world, is_first=is_first)
    sweeper = await let_pass(world, silence)
    piece = world.patch(job, 0 if is_first else 7, b"more")
    async with held_at(monkeypatch, trace_chunks, "append", piece) as response:
        await asyncio.wait_for(sweeper.sweep(), WITHIN)
    now = "pending" if is_first else "failed"
    assert (response.result().status_code, response.result().headers["job-status"]) == (403, now)
    assert await status(world, job) == now
    async with world.services.database.read() as connection:
        assert (await traces.head(connection, job["id"])).size == (0 if is_first else 7)


async def test_a_piece_of_log_meets_the_cancellation_of_what_is_redundant(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The piece is about to be written, when the decision ends the job."""
    side_by_side(world.services.database)
    pipeline_id = await world.pipeline(ONE)
    job = (await world.request(info={})).json()
    decision = Decision(pipeline_id, run=2**60, tick=1, redundant=(job["id"],))
    async with held_at(monkeypatch, trace_chunks, "append", world.patch(job, 0, b"more")) as response:
        await asyncio.wait_for(
            decisions.record_or_read(world.services.database, decision, world.services.clock()), WITHIN
        )
    heard = response.result()
    assert (heard.status_code, heard.headers["job-status"]) == (403, "canceled")
    assert (await world.row(job["id"])).status == "canceled"
    async with world.services.database.read() as connection:
        assert (await traces.head(connection, job["id"])).size == 0
