"""Pipeline schedules kept in step: Temporal has what SQL says, and no tick is left without a row.

Temporal's schedules are a copy of SQL's rows. A change is copied as soon as Temporal answers; every now and then all
are compared, so that one that Temporal has lost, got from an old copy, or that was changed by hand is put right.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog
from temporalio.service import RPCError

from domain.errors import Unavailable
from domain.schedules.cron import parse_stored
from domain.schedules.cron_calendars import calendars
from domain.schedules.ticks import ScheduleFacts
from domain.schedules.time_zones import iana_name
from loops.rounds import when_told
from models.clock import Clock
from models.notifications import OUTBOX, SCHEDULES, TICKS, Notifications
from models.repositories.pipelines import schedule_ticks, schedules
from models.repositories.pipelines.schedules import MirroredSchedule
from models.session import Database
from settings import TimeLimits
from workflows.schedules import Schedules, expected

MAX_CONCURRENT: Final = 20
"""So many schedules are told to Temporal in parallel."""
SOON: Final = 1.0
"""Seconds after which a copy is tried again that Temporal did not take."""

log = structlog.get_logger()


class ScheduleKeeper:
    """Copies schedules to Temporal, and accounts for ticks that Temporal did not start."""

    def __init__(
        self, database: Database, temporal: Schedules, notifications: Notifications, clock: Clock, times: TimeLimits
    ) -> None:
        """Take what the composition root made."""
        self._database = database
        self._temporal = temporal
        self._notifications = notifications
        self._clock = clock
        self._every = times.reconcile_every
        self._patience = timedelta(seconds=times.tick_patience)

    async def run(self) -> None:
        """Keep them for ever: changes at once, everything every now and then."""
        fault = "schedules could not be told to Temporal; the next round tries again"
        comparing = asyncio.create_task(self._compare())
        try:
            await when_told(self._notifications, SCHEDULES, self._mirror, self._every, fault)
        finally:
            comparing.cancel()
            await asyncio.gather(comparing, return_exceptions=True)

    async def _mirror(self) -> float:
        return self._every if await self.mirror() else SOON

    async def _compare(self) -> None:
        while True:
            try:
                await self.reconcile()
                await self.account()
            except (RPCError, Unavailable) as error:
                log.warning("schedules could not be compared with Temporal", error=str(error)[:200])
            except Exception:
                log.exception("schedules could not be compared; the next round tries again")
            await asyncio.sleep(self._every)

    async def mirror(self) -> bool:
        """Tell Temporal every change; whether it took all."""
        while True:
            async with self._database.read() as connection:
                rows = await schedules.to_mirror(connection, MAX_CONCURRENT)
            if not rows:
                return True
            if not all(await self._copy_all(rows)):
                return False

    async def reconcile(self) -> list[int]:
        """Compare all with what Temporal has; give back the schedules that were put right."""
        known = await self._temporal.listed()
        async with self._database.read() as connection:
            rows = await schedules.all_for_mirror(connection)
        suspects = [row for row in rows if known.get(row.id) != expected(row.revision, active=row.active)]
        wrong = [row for row in suspects if await self._is_wrong(row)]
        copied = await self._copy_all(wrong)
        strangers = sorted(set(known) - {row.id for row in rows})
        for schedule_id in strangers:
            await self._temporal.delete(schedule_id)
        if strangers or wrong:
            log.info("schedules are reconciled with SQL", put=[row.id for row in wrong], deleted=strangers)
        return [row.id for row, done in zip(wrong, copied, strict=True) if done] + strangers

    async def _is_wrong(self, row: MirroredSchedule) -> bool:
        """Visibility is only a hint: it may be some seconds behind."""
        return await self._temporal.state(row.id) != expected(row.revision, active=row.active)

    async def account(self) -> int:
        """Write a row for each tick that Temporal should have started long ago; give back how many there were."""
        before = self._clock() - self._patience
        async with self._database.read() as connection:
            found = await schedule_ticks.overdue(connection, before)
        total = 0
        for schedule_id in found:
            total += await self._account(schedule_id)
        if total:
            log.warning("ticks are accounted for that Temporal did not start", ticks=total, schedules=list(found))
            await self._notifications.notify(TICKS)
            await self._notifications.notify(OUTBOX)
        return total

    async def _account(self, schedule_id: int) -> int:
        total = 0
        while True:
            now = self._clock()
            async with self._database.write() as connection:
                done = await schedule_ticks.account(connection, schedule_id, now - self._patience, now)
            total += done.ticks
            if not done.more:
                return total

    async def _copy_all(self, rows: Sequence[MirroredSchedule]) -> list[bool]:
        done: list[bool] = []
        for start in range(0, len(rows), MAX_CONCURRENT):
            done += await asyncio.gather(*(self._copy(row) for row in rows[start : start + MAX_CONCURRENT]))
        return done

    async def _copy(self, row: MirroredSchedule) -> bool:
        """Whether Temporal has this revision now."""
        try:
            if row.deleted_at is None:
                await self._temporal.put(_facts(row))
            else:
                await self._temporal.delete(row.id)
        except RPCError as error:
            log.warning("Temporal did not take a schedule", schedule=row.id, error=str(error)[:200])
            return False
        async with self._database.write() as connection:
            if row.deleted_at is None:
                await schedules.mark_mirrored(connection, row.id, row.revision)
            else:
                await schedules.forget(connection, row.id)
        return True


def _facts(row: MirroredSchedule) -> ScheduleFacts:
    rule = parse_stored(row.cron)
    line = f"{row.full_path[:120]} · {row.ref.removeprefix('refs/')[:80]} · {row.description}"
    return ScheduleFacts(
        schedule_id=row.id,
        revision=row.revision,
        calendars=calendars(rule),
        zone=iana_name(rule.zone or row.cron_timezone),
        active=row.active,
        window=timedelta(seconds=row.catch_up_window),
        summary=line.encode()[:390].decode(errors="ignore"),
    )
