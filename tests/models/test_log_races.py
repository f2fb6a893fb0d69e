"""A piece of log that was looked at before something else happened to its log."""

import asyncio

import pytest

from domain.messages import Command
from domain.pipelines.status import Status
from models.repositories.logs import trace_chunks, traces
from models.repositories.pipelines import verdicts
from models.repositories.queue import held_jobs
from models.repositories.queue.held_jobs import HeldJob
from tests.fault_point import WITHIN, is_blocked, side_by_side
from tests.models.world import World, job


@pytest.fixture
async def held(world: World) -> int:
    """A job that a runner holds, with five bytes of log."""
    await world.begin("one: {script: x}\n")
    held = await world.take()
    assert await append(world, await look(world, held), b"first")
    return held


async def look(world: World, job_id: int) -> HeldJob:
    """What a call for a job sees before it writes."""
    async with world.database.read() as connection:
        found = await held_jobs.look(connection, job_id)
    assert found is not None
    return found


async def append(world: World, seen: HeldJob, content: bytes) -> bool:
    """Write behind what was looked at before; whether it is kept."""
    async with world.database.write_once() as connection:
        return bool(await trace_chunks.append(connection, [(seen, content)]))


async def whole(world: World, job_id: int) -> bytes:
    """The log of the present generation."""
    async with world.database.read() as connection:
        head = await traces.head(connection, job_id)
        return await traces.read(connection, job_id, head.generation, 0, 100)


async def test_of_two_pieces_that_saw_the_same_end_the_second_is_refused(world: World, held: int) -> None:
    """The runner gave up an answer and sent on: both of its calls have looked, then both write."""
    one, two = await look(world, held), await look(world, held)
    assert await append(world, one, b" second")
    assert not await append(world, two, b" se")
    assert await whole(world, held) == b"first second"


async def test_a_late_piece_of_the_old_generation_does_not_get_into_the_new_one(world: World, held: int) -> None:
    """The new log has just grown to the very offset of the late piece."""
    late = await look(world, held)
    async with world.database.write() as connection:
        await traces.restart(connection, held)
    assert await append(world, await look(world, held), b"FIRST")
    assert not await append(world, late, b" second")
    assert await whole(world, held) == b"FIRST"
    assert (await look(world, held)).size == 5


async def test_a_piece_that_was_looked_at_before_the_verdict_is_not_written_after_it(world: World, held: int) -> None:
    late = await look(world, held)
    await world.end(held)
    assert not await append(world, late, b" second")
    async with world.database.read() as connection:
        (frozen,) = await traces.to_store(connection, 10)
    assert (frozen.generation, frozen.size) == (0, 5)
    assert await whole(world, held) == b"first"


async def test_a_frozen_log_is_not_begun_anew_nor_another_generation_chosen(world: World, held: int) -> None:
    """A verdict with another checksum has looked; before it writes, the job is ended by somebody else."""
    async with world.database.write() as connection:
        await traces.restart(connection, held)
    assert await append(world, await look(world, held), b"FIR")
    await world.end(held, vouched=True)
    for restarts in (True, False):
        async with world.database.write() as connection:
            await (traces.restart(connection, held) if restarts else traces.settle(connection, [held]))
        assert await whole(world, held) == b"FIR"
        async with world.database.read() as connection:
            head = await traces.head(connection, held)
        assert (head.generation, head.size, head.frozen) == (1, 3, True)


@pytest.mark.parametrize("how", ["given up", "canceled"])
async def test_a_job_that_ends_while_its_log_is_sent_again_keeps_the_old_one(world: World, held: int, how: str) -> None:
    """The new one has hardly begun, and its runner will never send the rest."""
    async with world.database.write() as connection:
        await traces.restart(connection, held)
    assert await append(world, await look(world, held), b"FI")
    if how == "canceled":
        await world.settle((await world.row(job)).pipeline_id, Command("cancel_pipeline", "k"))
    else:
        await world.end(held, Status.FAILED, reason="runner_lost")
    assert (await world.row(job)).status in {"canceled", "failed"}
    async with world.database.read() as connection:
        (frozen,) = await traces.to_store(connection, 10)
    assert (frozen.generation, frozen.size) == (0, 5)
    assert await whole(world, held) == b"first"


async def test_a_log_that_was_sent_again_and_vouched_for_counts_although_it_is_shorter(world: World, held: int) -> None:
    async with world.database.write() as connection:
        await traces.restart(connection, held)
    assert await append(world, await look(world, held), b"FI")
    await world.end(held, vouched=True)
    assert await whole(world, held) == b"FI"


async def test_a_piece_that_waits_for_the_verdict_is_not_written_after_it(world: World, held: int) -> None:
    """The log was not frozen when the piece came to it."""
    side_by_side(world.database)
    seen = await look(world, held)
    async with world.database.write() as connection:
        await verdicts.end_jobs(connection, [held], Status.SUCCESS, world.now())
        late = asyncio.create_task(append(world, seen, b" second"))
        assert await is_blocked(late)
    assert not await asyncio.wait_for(late, WITHIN)
    assert await whole(world, held) == b"first"


async def test_pieces_of_many_logs_and_verdicts_on_their_jobs_do_not_wait_for_each_other(world: World) -> None:
    """The pieces come in another order than that in which jobs are ended."""
    side_by_side(world.database)
    await world.begin("one: {script: x, parallel: 2}\n")
    first, second = sorted([await world.take(), await world.take()])
    pieces = [(await look(world, job_id), b"all") for job_id in (second, first)]

    async def write() -> set[int]:
        async with world.database.write_once() as connection:
            return await trace_chunks.append(connection, pieces)

    async with world.database.write() as connection:
        await verdicts.end_jobs(connection, [first], Status.SUCCESS, world.now())
        writing = asyncio.create_task(write())
        assert await is_blocked(writing)
        await asyncio.wait_for(verdicts.end_jobs(connection, [second], Status.SUCCESS, world.now()), WITHIN)
    assert await asyncio.wait_for(writing, WITHIN) == set()
