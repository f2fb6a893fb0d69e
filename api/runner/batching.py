"""Questions to the database that come together are answered together."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from itertools import islice
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class AskedTogether(Generic[Question, Answer]):
    """What is asked while `read` is under way waits for it to end; then one further `read` answers all of that.

    So a thousand callers cost as many statements as the database can do one after the other, and each of them is
    answered by a statement that began after its question.
    """

    def __init__(
        self, read: Callable[[Collection[Question]], Awaitable[Mapping[Question, Answer]]], most: int | None = None
    ) -> None:
        """`read` answers many questions, `most` at once; what it leaves out is None."""
        self._read = read
        self._most = most
        self._asked: dict[Question, asyncio.Future[Answer | None]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer | None:
        """The answer. Raises what `read` raised for all that were asked with this one."""
        answer = self._asked.get(question)
        if answer is None:
            answer = self._asked[question] = asyncio.get_running_loop().create_future()
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_all())
        return await asyncio.shield(answer)  # another caller may wait for the same

    async def _read_all(self) -> None:
        try:
            while self._asked:
                questions = list(islice(self._asked, self._most))
                await self._answer({question: self._asked.pop(question) for question in questions})
        finally:
            self._reading = None

    async def _answer(self, asked: Mapping[Question, "asyncio.Future[Answer | None]"]) -> None:
        try:
            found = await self._read(asked)
        except Exception as error:  # noqa: BLE001  # it is for those who asked
            for answer in asked.values():
                answer.set_exception(error)
                answer.exception()  # nobody may be left who waits for it
        else:
            for question, answer in asked.items():
                answer.set_result(found.get(question))
