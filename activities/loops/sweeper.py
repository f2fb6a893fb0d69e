"""The sweeper: counts the ticks in which we served, and gives up what was silent for too many of them.

It may be wrong only a little: one sweep touches at most max(3, 5 %) of the held jobs, then it stops and raises an alarm
(reference: reliability, R1).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import structlog

from domain.status import Status
from domain.verdict import RUNNER_LOST
from models.clock import Clock
from models.columns import Record
from models.notifications import JOBS, OUTBOX, Notifications
from models.repositories import leases, verdicts
from models.repositories.job_rows import stuck_canceling
from models.session import Database
from settings import TimeLimits

log = structlog.get_logger()


class Sweeper:
    """Writes ticks and ends or re-queues jobs whose runner is gone."""

    def __init__(
        self,
        database: Database,
        notifications: Notifications,
        clock: Clock,
        times: TimeLimits,
        reachable: Callable[[], Awaitable[bool]],
    ) -> None:
        """`reachable` tells whether the front reaches this API: without it a tick would be a lie."""
        self._database = database
        self._notifications = notifications
        self._clock = clock
        self._times = times
        self._reachable = reachable

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            await asyncio.sleep(self._times.lease_tick)
            try:
                if await self._reachable():
                    await self.sweep()
            except Exception:
                log.exception("a sweep failed; the next one tries again")

    async def sweep(self) -> None:
        """Count a tick; then look for hand-outs nobody took up, lost runners and stuck cancels."""
        async with self._database.write() as connection:
            tick = await leases.tick(connection, self._times.lease_tick)
            if tick is None:
                return
            if tick.outage > 2 * self._times.lease_tick:
                await leases.extend_all(connection, self._bonus(tick.outage))
                log.warning("we were away; every lease lives longer", outage=round(tick.outage, 1))
                return
        await self._put_back()
        await self._give_up()
        await self._end_canceling()

    def _ticks(self, seconds: float) -> int:
        return max(1, round(seconds / self._times.lease_tick))

    def _bonus(self, outage: float) -> int:
        bonus = max(self._times.outage_bonus_min, min(outage, self._times.outage_bonus_max))
        return self._ticks(bonus)

    async def _put_back(self) -> None:
        """Jobs handed out without any call for them go back to the queue."""
        async with self._database.write() as connection:
            rows = await leases.silent(connection, self._ticks(self._times.hand_out_window), taken_up=False)
            back = await leases.put_back(connection, rows, self._clock())
        if back:
            log.warning("nobody took up these jobs; they are pending again", jobs=back)
            await self._notifications.notify(JOBS, count=len(back))

    async def _give_up(self) -> None:
        """Jobs whose runner was silent for too long end as `runner_lost`."""
        async with self._database.write() as connection:
            rows = await leases.silent(connection, self._ticks(self._times.runner_lost), taken_up=True)
            rows = await self._capped(rows, await leases.held(connection) if rows else 0)
            ended: list[int] = []
            for row in rows:
                ended += await verdicts.end_jobs(
                    connection,
                    [row.job_id],
                    Status.FAILED,
                    self._clock(),
                    reason=RUNNER_LOST,
                    hand_out=row.hand_out,
                )
        if ended:
            log.warning("the runners of these jobs are lost", jobs=ended)
            await self._notifications.notify(OUTBOX)

    async def _capped(self, rows: Sequence[Record], held: int) -> Sequence[Record]:
        most = max(3, held // 20)
        if len(rows) > most:
            log.error("more runners are silent than one sweep may give up", silent=len(rows), most=most)
        return rows[:most]

    async def _end_canceling(self) -> None:
        """A runner that was asked to stop and never answered."""
        now = self._clock()
        async with self._database.write() as connection:
            stuck = await stuck_canceling(connection, now - timedelta(seconds=self._times.canceling))
            ended = await verdicts.end_jobs(connection, stuck, Status.CANCELED, now) if stuck else []
        if ended:
            await self._notifications.notify(OUTBOX)
