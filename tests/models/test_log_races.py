"""A piece of log that was looked at before something else happened to its log."""

import pytest

from domain.errors import OutOfOrder
from domain.messages import Command
from domain.status import Status
from models.columns import Record
from models.repositories import held_jobs, traces
from tests.models.world import World, job


@pytest.fixture
async def held(world: World) -> int:
    """A job that a runner holds, with five bytes of log."""
    await world.begin("one: {script: x}\n")
    held = await world.take()
    assert await append(world, await look(world, held), 0, b"first") == 5
    return held


async def look(world: World, job_id: int) -> Record:
    """What a call for a job sees before it writes."""
    async with world.database.read() as connection:
        return await held_jobs.look(connection, job_id)


async def append(world: World, seen: Record, start: int, content: bytes) -> int:
    """Write what was looked at before."""
    async with world.database.write() as connection:
        return await traces.append(connection, seen, start, content)


async def whole(world: World, job_id: int) -> bytes:
    """The log of the present generation."""
    async with world.database.read() as connection:
        head = await traces.head(connection, job_id)
        return await traces.read(connection, job_id, head.generation, 0, 100)


async def test_of_two_pieces_that_saw_the_same_end_the_second_is_refused(world: World, held: int) -> None:
    """The runner gave up an answer and sent on: both of its calls have looked, then both write."""
    one, two = await look(world, held), await look(world, held)
    assert await append(world, one, 5, b" second") == 12
    with pytest.raises(OutOfOrder) as refused:
        await append(world, two, 5, b" se")
    assert refused.value.size == 12
    assert await whole(world, held) == b"first second"


async def test_a_late_piece_of_the_old_generation_does_not_get_into_the_new_one(world: World, held: int) -> None:
    """The new log has just grown to the very offset of the late piece."""
    late = await look(world, held)
    async with world.database.write() as connection:
        await traces.restart(connection, held)
    assert await append(world, await look(world, held), 0, b"FIRST") == 5
    with pytest.raises(OutOfOrder):
        await append(world, late, 5, b" second")
    assert await whole(world, held) == b"FIRST"
    assert (await look(world, held)).size == 5


async def test_a_piece_that_was_looked_at_before_the_verdict_is_not_written_after_it(world: World, held: int) -> None:
    late = await look(world, held)
    await world.end(held)
    with pytest.raises(OutOfOrder):
        await append(world, late, 5, b" second")
    async with world.database.read() as connection:
        (frozen,) = await traces.to_store(connection, 10)
    assert (frozen.generation, frozen.size) == (0, 5)
    assert await whole(world, held) == b"first"


async def test_a_frozen_log_is_not_begun_anew_nor_another_generation_chosen(world: World, held: int) -> None:
    """A verdict with another checksum has looked; before it writes, the job is ended by somebody else."""
    async with world.database.write() as connection:
        await traces.restart(connection, held)
    assert await append(world, await look(world, held), 0, b"FIR") == 3
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
    assert await append(world, await look(world, held), 0, b"FI") == 2
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
    assert await append(world, await look(world, held), 0, b"FI") == 2
    await world.end(held, vouched=True)
    assert await whole(world, held) == b"FI"
