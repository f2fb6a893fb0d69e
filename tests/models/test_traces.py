"""Logs in the database."""

import asyncio
import zlib
from dataclasses import replace

import pytest

from models.columns import table_of
from models.repositories.logs import trace_chunks, traces
from models.repositories.queue import held_jobs, leases
from models.repositories.queue.held_jobs import HeldJob
from models.tables.logs import TraceChunk
from models.tables.queue import LeaseClock
from tests.models.world import World

chunk = table_of(TraceChunk)
clock = table_of(LeaseClock)


@pytest.fixture
async def held(world: World) -> int:
    """A job that a runner holds."""
    await world.begin("one: {script: x}\n")
    return await world.take()


async def look(world: World, job_id: int) -> HeldJob:
    async with world.database.read() as connection:
        found = await held_jobs.look(connection, job_id)
    assert found is not None
    return found


async def append(world: World, job_id: int, start: int, content: bytes) -> bool:
    """Write as if the log had been seen to end at `start`; whether it is kept."""
    row = replace(await look(world, job_id), size=start)
    async with world.database.write_once() as connection:
        return bool(await trace_chunks.append(connection, [(row, content)]))


async def whole(world: World, job_id: int) -> bytes:
    async with world.database.read() as connection:
        row = await traces.head(connection, job_id)
        return await traces.read(connection, job_id, row.generation, 0, row.size)


async def restart(world: World, job_id: int) -> None:
    async with world.database.write() as connection:
        await traces.restart(connection, job_id)


async def moved(world: World, job_id: int, generation: int, size: int) -> None:
    """An object of that generation and length was found to be right."""
    async with world.database.write() as connection:
        await traces.copied(connection, job_id, generation, size)
        await traces.drop(connection, [job_id], 100)


async def test_chunks_are_appended_in_order(world: World, held: int) -> None:
    assert await append(world, held, 0, b"hello ")
    assert await append(world, held, 6, b"world\n")
    assert await whole(world, held) == b"hello world\n"
    async with world.database.read() as connection:
        row = await traces.head(connection, held)
    assert (row.size, row.crc) == (12, zlib.crc32(b"hello world\n"))


@pytest.mark.parametrize("start", [0, 3, 7])
async def test_a_chunk_from_elsewhere_changes_nothing(world: World, held: int, start: int) -> None:
    await append(world, held, 0, b"hello ")
    assert not await append(world, held, start, b"again")
    assert await whole(world, held) == b"hello "


async def test_of_many_chunks_at_once_each_is_kept_or_not(world: World) -> None:
    await world.begin("one: {script: x, parallel: 3}\n")
    jobs = [await world.take() for _ in range(3)]
    for _ in range(2):
        seen = [await look(world, job_id) for job_id in reversed(jobs)]
        await append(world, jobs[1], seen[1].size, b"sooner\n")
        async with world.database.write_once() as connection:
            kept = await trace_chunks.append(connection, [(row, b"a line\n" * row.id) for row in seen])
        assert kept == {jobs[0], jobs[2]}
    for job_id, line in zip(jobs, (b"a line\n" * jobs[0], b"sooner\n", b"a line\n" * jobs[2]), strict=True):
        assert await whole(world, job_id) == line * 2
        async with world.database.read() as connection:
            assert (await traces.head(connection, job_id)).crc == zlib.crc32(line * 2)


async def test_a_chunk_renews_the_lease_once_a_tick(world: World, held: int) -> None:
    async with world.database.write() as connection:
        await leases.tick(connection, 0)
        await connection.execute(clock.update().values(ticks=7))
    for start in (0, 4):
        await append(world, held, start, b"text")
        row = await world.row(held_jobs.lease, job_id=held)
        assert (row.taken_up, row.contact) == (True, 7)


async def test_a_hand_out_that_was_put_back_writes_nothing(world: World) -> None:
    """Its runner was silent for too long, and nobody else has the job yet."""
    await world.begin("one: {script: x}\n")
    taken = await world.claim()
    assert taken is not None
    seen = await look(world, taken[0])
    async with world.database.write() as connection:
        (lease,) = await leases.silent(connection, -1, taken_up=False)
        assert await leases.put_back(connection, [lease], world.now()) == [taken[0]]
    async with world.database.write_once() as connection:
        assert await trace_chunks.append(connection, [(seen, b"late")]) == set()
    assert await whole(world, taken[0]) == b""


async def test_of_two_equal_chunks_at_once_one_is_kept(world: World, held: int) -> None:
    assert sorted(await asyncio.gather(*(append(world, held, 0, b"once") for _ in range(2)))) == [False, True]
    assert await whole(world, held) == b"once"


@pytest.mark.parametrize(("start", "limit"), [(0, 100), (2, 3), (5, 4), (9, 1), (10, 5)])
async def test_any_part_can_be_read(world: World, held: int, start: int, limit: int) -> None:
    text = b"0123456789"
    for begin in range(0, 10, 4):
        await append(world, held, begin, text[begin : begin + 4])
    async with world.database.read() as connection:
        part = await traces.read(connection, held, 0, start, limit)
    assert part == text[start : start + limit]


async def test_a_resent_log_is_a_new_generation(world: World, held: int) -> None:
    await append(world, held, 0, b"wrong")
    await restart(world, held)
    async with world.database.read() as connection:
        row = await traces.head(connection, held)
    assert (row.generation, row.size, row.crc) == (1, 0, 0)
    await append(world, held, 0, b"right!")
    assert await whole(world, held) == b"right!"


@pytest.mark.parametrize(
    ("second", "kept"), [(b"short", b"the longer one"), (b"an even longer one", b"an even longer one")]
)
async def test_when_no_generation_is_right_the_longest_is_kept(
    world: World, held: int, second: bytes, kept: bytes
) -> None:
    await append(world, held, 0, b"the longer ")
    await append(world, held, 11, b"one")
    await restart(world, held)
    await append(world, held, 0, second)
    async with world.database.write() as connection:
        await traces.settle(connection, [held])
        row = await traces.head(connection, held)
    assert await whole(world, held) == kept
    assert (row.size, row.crc) == (len(kept), zlib.crc32(kept))


async def test_logs_freeze_with_the_verdict(world: World, held: int) -> None:
    await append(world, held, 0, b"done")
    async with world.database.read() as connection:
        assert list(await traces.to_store(connection, 10)) == []
    await world.end(held)
    assert not await append(world, held, 4, b" too late")
    assert await whole(world, held) == b"done"
    async with world.database.read() as connection:
        (row,) = await traces.to_store(connection, 10)
    assert (row.job_id, row.size, row.project_id) == (held, 4, world.project_id)


@pytest.mark.parametrize(("generation", "size", "gone"), [(0, 4, True), (1, 4, False), (0, 3, False)])
async def test_chunks_go_only_up_to_the_length_that_was_frozen(
    world: World, held: int, generation: int, size: int, gone: bool
) -> None:
    await append(world, held, 0, b"done")
    await moved(world, held, generation, size)
    assert len(await world.rows(chunk)) == 1  # not frozen yet
    await world.end(held)
    await moved(world, held, generation, size)
    assert (list(await world.rows(chunk)) == []) is gone
    async with world.database.read() as connection:
        assert (list(await traces.to_store(connection, 10)) == []) is gone


async def test_a_job_that_nobody_took_has_an_empty_log(world: World) -> None:
    async with world.database.read() as connection:
        row = await traces.head(connection, 12345)
    assert (row.generation, row.size, row.crc) == (0, 0, 0)
