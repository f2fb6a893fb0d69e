"""Many questions, few statements: who asks while one is under way is answered by the next."""

import asyncio
from collections.abc import Collection, Mapping

import pytest

from api.runner.batching import AskedTogether


class Database:
    """Answers even numbers, when it may."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []
        self.may_answer = asyncio.Event()
        self.broken = False

    async def read(self, numbers: Collection[int]) -> Mapping[int, str]:
        """Answer."""
        self.asked.append(sorted(numbers))
        await self.may_answer.wait()
        if self.broken:
            raise ConnectionResetError("on purpose")
        return {number: str(number) for number in numbers if number % 2 == 0}


async def test_what_is_asked_during_a_statement_is_answered_by_the_next() -> None:
    database = Database()
    together = AskedTogether(database.read)
    early = [asyncio.create_task(together.ask(number)) for number in (1, 2, 2)]
    while not database.asked:
        await asyncio.sleep(0)
    late = [asyncio.create_task(together.ask(number)) for number in (2, 4)]
    await asyncio.sleep(0)
    database.may_answer.set()
    assert await asyncio.gather(*early, *late) == [None, "2", "2", "2", "4"]
    assert database.asked == [[1, 2], [2, 4]]


async def test_a_fault_is_told_to_all_who_asked_and_to_nobody_after_them() -> None:
    database = Database()
    together = AskedTogether(database.read)
    database.broken = True
    database.may_answer.set()
    for answer in await asyncio.gather(together.ask(2), together.ask(4), return_exceptions=True):
        assert isinstance(answer, ConnectionResetError)
    database.broken = False
    assert await together.ask(2) == "2"


async def test_who_asks_no_more_takes_no_answer_from_others() -> None:
    database = Database()
    together = AskedTogether(database.read)
    gone, other = (asyncio.create_task(together.ask(2)) for _ in range(2))
    while not database.asked:
        await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    database.may_answer.set()
    assert await other == "2"
