"""A sweeper whose ticks and clock a test moves by hand."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from sqlalchemy import select, update

from loops.sweeper import Sweeper
from models.columns import table_of
from models.notifications import Notifications
from models.repositories.queue.held_jobs import RENEWED
from models.tables.queue import Lease, LeaseClock
from models.tables.runners import Runner
from settings import TimeLimits
from tests.models import waiting
from tests.models.world import World, job, outbox_table

lease = table_of(Lease)
clock = table_of(LeaseClock)
runner = table_of(Runner)

TICK = 5.0


async def _reachable() -> bool:
    return True


@dataclass
class Sweeping:
    """A world with one runner that has just called, and the sweeper of its server."""

    world: World
    sweeper: Sweeper
    held: float = 0.0
    """For how many seconds the process has held up its loop."""

    @classmethod
    async def make(cls, world: World, **limits: Any) -> Self:
        """Let the clock run."""
        times = TimeLimits(lease_tick=TICK, **limits)
        parts = (world.database, Notifications(), world.now, times, _reachable)
        made = cls(world, Sweeper(*parts, held=lambda: made.held))
        await made.sweep()
        await made.call(world.runner_id)
        return made

    async def call(self, runner_id: int) -> None:
        """A runner asks for work, and gets none."""
        await waiting.call(self.world, runner_id)

    async def sweep(self) -> None:
        """A tick is due; count it and sweep."""
        await self._clock(ticked_at=clock.c.ticked_at - TICK)
        await self.sweeper.sweep()

    async def pass_time(self, seconds: float) -> None:
        """Serve for so long but for the last tick, which the next sweep counts. The process' clock stands still."""
        await waiting.wait(self.world, seconds)
        await self._clock(ticks=clock.c.ticks + round(seconds / TICK) - 1)

    async def serve(self, seconds: float, *, alive: bool = False) -> None:
        """Serve for so long, and sweep at the end of it; runners may give a sign of life just before."""
        await self.pass_time(seconds)
        if alive:
            await self.keep_alive()
        await self.sweep()

    async def be_away(self, seconds: float) -> None:
        """Be down for so long; the first sweep after it finds out."""
        await waiting.wait(self.world, seconds)
        await self._clock(ticked_at=clock.c.ticked_at - seconds)
        await self.sweeper.sweep()

    async def be_busy(self, seconds: float) -> None:
        """Compute on the event loop for so long, and answer nobody; the first sweep after it finds out."""
        self.held += seconds
        await self.be_away(seconds)

    async def set_back(self, seconds: float) -> None:
        """The clock is set back by so much; the next sweep finds out."""
        async with self.world.database.write() as connection:
            later = {outbox_table.c.not_before: self.world.now() + timedelta(seconds=seconds)}
            await connection.execute(update(outbox_table).values(later))
        await self._clock(ticked_at=clock.c.ticked_at + seconds)
        await self.sweeper.sweep()

    async def _clock(self, **values: Any) -> None:
        async with self.world.database.write() as connection:
            await connection.execute(update(clock).values(**values))

    async def set_runner(self, **values: Any) -> None:
        """Write columns of the runner."""
        async with self.world.database.write() as connection:
            await connection.execute(update(runner).values(**values))

    async def keep_alive(self, jobs: int = 1000) -> None:
        """The runners of the first jobs that are held call for them."""
        first = select(lease.c.job_id).order_by(lease.c.job_id).limit(jobs)
        async with self.world.database.write() as connection:
            await connection.execute(update(lease).where(lease.c.job_id.in_(first)).values(RENEWED))

    async def outcome(self, name: str = "one") -> tuple[str, str]:
        """Status and failure reason of the latest attempt."""
        row = await self.world.row(job, name=name, retried=False)
        return row.status, row.failure_reason

    async def count(self, status: str) -> int:
        """How many jobs have this status."""
        return len(await self.world.rows(job, status=status))
