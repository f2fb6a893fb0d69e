"""Numbers of jobs that run at the same time."""

import asyncio

import pytest

from fleet.poller import Slots


async def test_the_lowest_free_number_is_given() -> None:
    slots = Slots(3)
    assert [await slots.take() for _ in range(3)] == [0, 1, 2]
    slots.give_back(1)
    slots.give_back(0)
    assert await slots.take() == 0


async def test_numbers_of_jobs_that_go_on_are_not_given_until_they_end() -> None:
    slots = Slots(3)
    slots.hold(1)
    assert [await slots.take() for _ in range(2)] == [0, 2]
    waiting = asyncio.create_task(slots.take())
    slots.give_back(1)
    assert await waiting == 1


@pytest.mark.parametrize("number", [2, 7])
async def test_a_number_that_is_not_among_them_any_more_is_never_given(number: int) -> None:
    slots = Slots(2)
    slots.hold(number)
    assert [await slots.take() for _ in range(2)] == [0, 1]
    waiting = asyncio.create_task(slots.take())
    slots.give_back(number)
    await asyncio.wait({waiting}, timeout=0)
    assert not waiting.done()
    slots.give_back(1)
    assert await waiting == 1
