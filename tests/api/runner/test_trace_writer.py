"""Chunks of logs that come together: one statement, and what one of them meets is not the others' fault."""

import asyncio
from typing import Any

import pytest

from models.repositories.logs import trace_chunks, traces
from tests.api.runner.world import World
from tests.fault_point import WITHIN, held_at
from tests.waiting import eventually

FOUR = "one: {script: x, parallel: 4}\n"


async def together(
    world: World, monkeypatch: pytest.MonkeyPatch, first: Any, *others: Any
) -> tuple[list[tuple[int, str, str]], list[int]]:
    """`first` is held until the others wait; what all are answered, and how many chunks each statement had."""
    sizes: list[int] = []
    append = trace_chunks.append

    async def counted(connection: Any, chunks: Any) -> Any:
        sizes.append(len(chunks))
        return await append(connection, chunks)

    monkeypatch.setattr(trace_chunks, "append", counted)
    async with held_at(monkeypatch, trace_chunks, "append", first) as held:
        waiting = [asyncio.create_task(other) for other in others]

        async def wait() -> bool:
            return len(world.services.trace_writer._chunks._asked) == len(waiting)

        await eventually(wait, "all others wait for the first one")
    responses = [held.result(), *await asyncio.wait_for(asyncio.gather(*waiting), WITHIN)]
    heads = [(each.headers.get("job-status", ""), each.headers.get("range", "")) for each in responses]
    return [(each.status_code, *head) for each, head in zip(responses, heads, strict=True)], sizes


async def test_chunks_that_come_together_are_one_statement(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.pipeline(FOUR)
    jobs = [await world.job() for _ in range(4)]
    chunks = [world.patch(job, 0, b"line\n" * job["id"]) for job in jobs]
    responses, sizes = await together(world, monkeypatch, *chunks)
    assert responses == [(202, "running", f"0-{5 * job['id']}") for job in jobs]
    assert sizes == [1, 3]
    async with world.services.database.read() as connection:
        for job in jobs:
            assert await traces.read(connection, job["id"], 0, 0, 100) == b"line\n" * job["id"]


async def test_one_that_is_refused_does_not_spoil_the_others(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.pipeline(FOUR)
    jobs = [await world.job() for _ in range(4)]
    assert (await world.put(jobs[1], "success", b"")).status_code == 200
    foreign = {**jobs[2], "token": jobs[3]["token"]}
    chunks = [world.patch(jobs[0], 0, b"a"), world.patch(jobs[1], 0, b"b"), world.patch(jobs[2], 7, b"c")]
    chunks += [world.patch(jobs[3], 0, b"d")]
    assert (await world.patch(foreign, 0, b"c")).status_code == 403
    responses, sizes = await together(world, monkeypatch, *chunks)
    assert responses == [
        (202, "running", "0-1"),
        (403, "success", ""),
        (416, "running", "0-0"),
        (202, "running", "0-1"),
    ]
    assert sizes == [1, 1]


async def test_of_several_chunks_of_one_log_one_is_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner that had no response sends again, and more."""
    await world.pipeline(FOUR)
    job, other = await world.job(), await world.job()
    sent = [world.patch(job, 0, b"one"), world.patch(job, 0, b"one two"), world.patch(job, 0, b"one two three")]
    responses, _ = await together(world, monkeypatch, world.patch(other, 0, b"x"), *sent)
    async with world.services.database.read() as connection:
        log = await traces.read(connection, job["id"], 0, 0, 100)
    assert log in {b"one", b"one two", b"one two three"}
    kept, lost = (202, "running", f"0-{len(log)}"), (416, "running", f"0-{len(log)}")
    assert sorted(responses[1:]) == sorted([kept, lost, lost])
