"""Rounds of loops: for ever, whatever a round meets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from loops.rounds import every, when_told
from models.notifications import Notifications


@asynccontextmanager
async def going_on(loop: Awaitable[None]) -> AsyncIterator[None]:
    """The loop runs beside, and is cancelled in the end."""
    task = asyncio.ensure_future(loop)
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_fault_ends_a_round_and_not_the_loop() -> None:
    rounds: asyncio.Queue[int] = asyncio.Queue()
    count = 0

    async def work() -> None:
        nonlocal count
        count += 1
        rounds.put_nowait(count)
        if count == 1:
            raise RuntimeError("a fault")

    with capture_logs() as logged:
        async with going_on(every(0.001, work, "a round failed")):
            assert [await rounds.get(), await rounds.get()] == [1, 2]
    assert [(line["event"], line["log_level"]) for line in logged] == [("a round failed", "error")]


@pytest.mark.parametrize("begins_at_once", [False, True])
async def test_the_first_round_is_at_once_only_where_that_is_wanted(begins_at_once: bool) -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()

    async with going_on(every(3600, work, "", begins_at_once=begins_at_once)):
        for _ in range(3):
            await asyncio.sleep(0)
        assert begun.is_set() == begins_at_once


async def test_what_is_told_during_a_round_begins_the_next_one() -> None:
    notifications = Notifications()
    rounds: asyncio.Queue[int] = asyncio.Queue()
    count = 0

    async def work() -> float:
        nonlocal count
        count += 1
        if count < 3:
            await notifications.notify("topic")
        rounds.put_nowait(count)
        return 3600

    async with going_on(when_told(notifications, "topic", work, 3600, "")):
        assert [await rounds.get() for _ in range(3)] == [1, 2, 3]
        await notifications.notify("topic")
        assert await rounds.get() == 4
    assert rounds.empty()


async def test_work_that_is_not_done_goes_on_at_once_and_a_fault_waits_a_pause() -> None:
    rounds: asyncio.Queue[int] = asyncio.Queue()
    count = 0

    async def work() -> float:
        nonlocal count
        count += 1
        rounds.put_nowait(count)
        if count == 2:
            raise RuntimeError("a fault")
        return 0 if count == 1 else 3600

    with capture_logs():
        async with going_on(when_told(Notifications(), "topic", work, 0.001, "a round failed")):
            assert [await rounds.get() for _ in range(3)] == [1, 2, 3]
