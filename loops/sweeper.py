"""The sweeper: counts the ticks in which we served, and ends what was silent, ran or waited for too many of them.

It may be wrong only a little: one sweep touches at most max(3, 5 %) of the jobs that runners hold, and as many of those
that wait for one; then it stops and raises an alarm (docs/reference/reliability.md, "Mass errors").
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Protocol, TypeVar

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.failure_reasons import NO_RUNNER, RUNNERS_BUSY, SERVER_TIMEOUT
from domain.pipelines.status import Status
from domain.pipelines.verdict import RUNNER_LOST
from domain.runners.leases import outage_in
from loops.rounds import every
from metrics.server_metrics import ServerMetrics
from models import job_offers
from models.clock import Clock
from models.notifications import OUTBOX, Notifications
from models.repositories.installation import set_back_clock
from models.repositories.pipelines import verdicts
from models.repositories.pipelines.job_rows import stuck_canceling
from models.repositories.queue import leases, waiting_jobs
from models.session import Database
from settings import TimeLimits

log = structlog.get_logger()

Item = TypeVar("Item")


class HandedOut(Protocol):
    """A hand-out of a job."""

    @property
    def job_id(self) -> int:
        """Which job."""

    @property
    def hand_out(self) -> int:
        """Which one of its hand-outs."""


class Rule(StrEnum):
    """What a sweep looks for; the metrics know the names, people read the values."""

    NOT_TAKEN_UP = "hand-outs that nobody took up"
    RUNNER_LOST = "runners that are silent"
    OVERDUE = "jobs beyond their timeout"
    NOT_STOPPED = "jobs that do not stop"
    WAITED_IN_VAIN = "jobs that wait in vain"


class Share:
    """How many jobs one sweep may still touch, of all the kinds that it counts together."""

    def __init__(self, of: int, metrics: ServerMetrics) -> None:
        """Three jobs or five in a hundred of these, whichever is more."""
        self.left = max(3, of // 20)
        self._metrics = metrics

    def cut(self, found: Sequence[Item], rule: Rule) -> Sequence[Item]:
        """The first of these, as many as are left; an alarm if there are more."""
        within = found[: self.left]
        if len(found) > len(within):
            self._metrics.sweep_cut(rule.name.lower())
            log.error("more jobs than one sweep may end", what=rule, found=len(found), most=len(within))
        self.left -= len(within)
        return within


class Sweeper:
    """Writes ticks and ends or re-queues jobs whose runner is gone, or whose time is over."""

    def __init__(
        self,
        database: Database,
        notifications: Notifications,
        clock: Clock,
        times: TimeLimits,
        reachable: Callable[[], Awaitable[bool]],
        metrics: ServerMetrics | None = None,
        held: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`reachable` tells whether the front reaches this API: without it a tick would be a lie.

        `held` is for how many seconds this process has held up its own event loop until now.
        """
        self._metrics = metrics or ServerMetrics()
        self._database = database
        self._notifications = notifications
        self._clock = clock
        self._times = times
        self._reachable = reachable
        self._held = held
        self._held_before = 0.0

    async def run(self) -> None:
        """Sweep for ever."""
        await every(self._times.lease_tick, self._counted, "a sweep failed; the next one tries again")

    async def _counted(self) -> None:
        try:
            if is_reachable := await self._reachable():
                await self.sweep()
            self._metrics.swept("done" if is_reachable else "unreachable")
        except Exception:
            self._metrics.swept("failed")
            raise

    async def sweep(self) -> None:
        """Count a tick; then look for hand-outs nobody took up, lost runners, and jobs whose time is over."""
        async with self._database.write() as connection:
            tick = await leases.tick(connection, self._times.lease_tick)
            held = self._held() - self._held_before
            if tick is None:
                self._held_before += held
                return
            await leases.stand_still(connection)
            if outage := outage_in(tick.gap, held, self._times.lease_tick):
                await leases.extend_all(connection, self._bonus(outage))
                log.warning("we were away; every lease lives longer", outage=round(outage, 1))
            elif outage_in(tick.gap, 0.0, self._times.lease_tick):
                log.warning("we were busy ourselves and answered nobody; no lease lives longer", held=round(held, 1))
            if tick.set_back:
                late = await set_back_clock.bring_back(connection, self._clock())
                log.warning("the clock was set back; what waits is tried soon", by=round(tick.set_back, 1), rows=late)
            is_calm = await leases.is_calm(connection)
            jobs = await leases.held(connection)
        self._held_before += held  # only once the tick is written: else its gap is looked at again
        share = Share(jobs, self._metrics)
        if jobs:
            await self._put_back(share)
            await self._give_up(share)
            await self._end_overdue(share)
        if not is_calm:
            await self._end_canceling(share)
            await self._end_waiting()

    def _ticks(self, seconds: float) -> int:
        return max(1, round(seconds / self._times.lease_tick))

    def _bonus(self, outage: float) -> int:
        bonus = max(self._times.outage_bonus_min, min(outage, self._times.outage_bonus_max))
        return self._ticks(bonus)

    async def _put_back(self, share: Share) -> None:
        """Jobs handed out without any call for them go back to the queue."""
        async with self._database.read() as connection:
            found = await leases.silent(connection, self._ticks(self._times.hand_out_window), taken_up=False)
        rows = share.cut([row for row in found if row.status == Status.RUNNING], Rule.NOT_TAKEN_UP)
        if not rows:
            return
        async with self._database.write() as connection:
            back = await leases.put_back(connection, rows, self._clock())
        if back:
            self._metrics.swept_jobs(Rule.NOT_TAKEN_UP.name.lower(), len(back))
            log.warning("nobody took up these jobs; they are pending again", jobs=back)
            await job_offers.tell(self._database, self._notifications, back)

    async def _give_up(self, share: Share) -> None:
        """Jobs whose runner was silent for too long end as `runner_lost`."""
        patience = self._ticks(self._times.runner_lost)
        async with self._database.read() as connection:
            found = await leases.silent(connection, patience, taken_up=True)
        rows = share.cut(found, Rule.RUNNER_LOST)
        if not rows:
            return
        async with self._database.write() as connection:
            lost = await leases.still_silent(connection, rows, patience)
            ended = await self._fail(connection, [row for row in rows if row.job_id in lost], RUNNER_LOST)
        await self._tell(ended, Rule.RUNNER_LOST, "the runners of these jobs are lost")

    async def _end_overdue(self, share: Share) -> None:
        """Jobs that run although their runner should have ended them long ago."""
        async with self._database.read() as connection:
            found = await leases.overdue(connection, self._times.lease_tick, self._times.timeout_grace)
        rows = share.cut(found, Rule.OVERDUE)
        if not rows:
            return
        async with self._database.write() as connection:
            ended = await self._fail(connection, rows, SERVER_TIMEOUT)
        await self._tell(ended, Rule.OVERDUE, "these jobs ran beyond their timeout")

    async def _end_canceling(self, share: Share) -> None:
        """A runner that was asked to stop and never answered; also of an attempt that was retried meanwhile."""
        async with self._database.read() as connection:
            found = await stuck_canceling(connection, self._times.canceling)
        rows = share.cut(found, Rule.NOT_STOPPED)
        if not rows:
            return
        async with self._database.write() as connection:
            ended = await verdicts.end_jobs(connection, rows, Status.CANCELED, self._clock())
        await self._tell(ended, Rule.NOT_STOPPED, "these jobs did not stop in time")

    async def _end_waiting(self) -> None:
        """Jobs that have waited for too long, above all those that no runner can take."""
        async with self._database.read() as connection:
            found = await waiting_jobs.overdue(connection, self._times)
            share = Share(await waiting_jobs.count(connection) if found else 0, self._metrics)
        rows = share.cut(found, Rule.WAITED_IN_VAIN)
        if not rows:
            return
        async with self._database.write() as connection:
            ended = await self._fail(connection, [row for row in rows if row.reason], NO_RUNNER)
            ended += await self._fail(connection, [row for row in rows if not row.reason], RUNNERS_BUSY)
        for row in rows:
            log.warning("a job waited in vain", job=row.job_id, reason=row.reason or "every runner that fits was busy")
        await self._tell(ended, Rule.WAITED_IN_VAIN, "these jobs waited for too long")

    async def _fail(self, connection: AsyncConnection, rows: Sequence[HandedOut], reason: str) -> list[int]:
        """End each job, unless it was handed out anew since it was looked at."""
        ended: list[int] = []
        for row in sorted(rows, key=lambda row: row.job_id):
            ended += await verdicts.end_jobs(
                connection, [row.job_id], Status.FAILED, self._clock(), reason=reason, hand_out=row.hand_out
            )
        return ended

    async def _tell(self, ended: Sequence[int], rule: Rule, text: str) -> None:
        if ended:
            self._metrics.swept_jobs(rule.name.lower(), len(ended))
            log.warning(text, jobs=list(ended))
            await self._notifications.notify(OUTBOX)
