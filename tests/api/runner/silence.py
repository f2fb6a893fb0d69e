"""Time in which every runner was silent, counted as the server counts it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import update

from loops.sweeper import Sweeper
from models.columns import table_of
from models.repositories.queue import leases
from models.tables.queue import LeaseClock
from tests.api.runner.world import World
from tests.fault_point import WITHIN, held_at, is_blocked

clock = table_of(LeaseClock)


async def let_pass(world: World, silence: float) -> Sweeper:
    """A sweeper that finds so many seconds of silence at its next sweep."""

    async def reachable() -> bool:
        return True

    services = world.services
    times = services.settings.times
    async with services.database.write() as connection:
        await leases.tick(connection, times.lease_tick)
        ticks = clock.c.ticks + round(silence / times.lease_tick) - 1
        await connection.execute(update(clock).values(ticks=ticks, ticked_at=clock.c.ticked_at - times.lease_tick))
    return Sweeper(services.database, services.notifications, services.clock, times, reachable)


async def sweep(world: World, silence: float) -> None:
    """Serve for so long without a call, then sweep."""
    await (await let_pass(world, silence)).sweep()


@asynccontextmanager
async def swept_beside(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, work: Any, sweeper: Sweeper, *, behind: bool = False
) -> AsyncIterator["asyncio.Task[Any]"]:
    """A sweep goes on while `work` is held at a function; both are over when the block is left."""
    async with held_at(monkeypatch, module, name, work, behind=behind) as answer:
        sweeping = asyncio.create_task(sweeper.sweep())
        await is_blocked(sweeping)
    await asyncio.wait_for(sweeping, WITHIN)
    yield answer
