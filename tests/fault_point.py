"""A point in the product at which a test holds whoever comes there first."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import text

from models.session import Database

WITHIN = 20.0


def side_by_side(database: Database) -> None:
    """Skip where one transaction writes at a time."""
    if database.is_sqlite:
        pytest.skip("SQLite has one writer: there is nothing between two writes")


async def somebody_waits_for_a_lock(database: Database) -> bool:
    """Whether a transaction waits for another one, on PostgreSQL."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with database.read() as connection:
        return bool((await connection.execute(text(waiting))).scalar())


class FaultPoint:
    """Stands in front of a function, or behind it: the first call waits there until it may go on."""

    def __init__(self, function: Callable[..., Awaitable[Any]], *, behind: bool) -> None:
        self._function = function
        self._behind = behind
        self.is_there = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def __call__(self, *given: Any, **named: Any) -> Any:
        """Wait, the first time, before or after doing what was asked for."""
        if self.is_there.is_set():
            return await self._function(*given, **named)
        self.is_there.set()
        if self._behind:
            found = await self._function(*given, **named)
            await asyncio.wait_for(self.may_go_on.wait(), WITHIN)
            return found
        await asyncio.wait_for(self.may_go_on.wait(), WITHIN)
        return await self._function(*given, **named)


@asynccontextmanager
async def held_at(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, work: Any, *, behind: bool = False
) -> AsyncIterator["asyncio.Task[Any]"]:
    """`work` stands still where it calls a function of `module` while the block runs; then it goes on to its end."""
    point = FaultPoint(getattr(module, name), behind=behind)
    with monkeypatch.context() as fault:
        fault.setattr(module, name, point)
        task = asyncio.create_task(work)
        try:
            await asyncio.wait_for(point.is_there.wait(), WITHIN)
            yield task
            point.may_go_on.set()
            await asyncio.wait_for(asyncio.wait([task]), WITHIN)
        finally:
            task.cancel()


async def is_blocked(task: "asyncio.Task[Any]", seconds: float = 1.0) -> bool:
    """Whether the task still waits, for another transaction most likely, after so many seconds."""
    await asyncio.wait({task}, timeout=seconds)
    return not task.done()
