"""Work in the processes of the compilers, as the event loop sees it: begun, and given up with its caller."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar

from application.configurations.compiler_pool import MARKS, within
from git.turns import ended_with_caller

T = TypeVar("T")


async def in_process(compilers: Executor, seconds: float, work: Callable[[], T]) -> tuple[T, float]:
    """Work in a process of the compilers; with how many seconds it has computed. It ends when its caller goes.

    Whoever calls it has had their turn. Raises `OutOfTime`, `GivenUp` and `BrokenProcessPool`.
    """
    mark = MARKS.take()
    try:
        running = compilers.submit(within, seconds, mark, work)
    except BaseException:
        MARKS.put_back(mark)
        raise
    running.add_done_callback(lambda _: MARKS.put_back(mark))
    try:
        with ended_with_caller(partial(MARKS.give_up, mark)):
            return await asyncio.wrap_future(running)
    except asyncio.CancelledError:
        MARKS.give_up(mark)
        raise
