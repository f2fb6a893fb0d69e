"""The activity of a tick: SQL behind `workflows.ports.SchedulePort`. The API makes the pipeline."""

import asyncio
from datetime import timedelta
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from domain.schedules.ticks import IGNORED, OPEN, Tick, TickResult
from models.clock import Clock
from models.notifications import OUTBOX, TICKS, Notifications, schedule_topic
from models.repositories.pipelines import schedule_ticks
from models.rows.schedules import PipelineScheduleRow
from models.session import Database
from workflows.ports import SchedulePort

PATIENCE: Final = 5.0
"""Seconds in which one attempt waits for the pipeline; most are made in one."""
SHORTEST: Final = timedelta(seconds=1)
MAX_DURATION: Final = timedelta(seconds=60)

_WAITERS: Final = 100
_CHANGED: Final = TickResult(IGNORED, "The schedule was deleted or changed since, and knows no such tick.")


class ScheduleActivities(SchedulePort):
    """Records ticks in SQL, and waits for what becomes of them."""

    def __init__(self, database: Database, notifications: Notifications, clock: Clock) -> None:
        """Take what the composition root made."""
        self._database = database
        self._notifications = notifications
        self._clock = clock

    @activity.defn(name="carry_out_tick")
    async def carry_out_tick(self, order: Tick) -> TickResult:
        """Record the tick, and those before it; give back the last word on it, or fail to be asked again.

        The row is unique by schedule and time: whatever dies, a repetition finds it.
        """
        if not await self._recorded(order):
            return _CHANGED
        await self._notifications.notify(TICKS)
        await self._notifications.notify(OUTBOX)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            waiter = self._notifications.subscribe(schedule_topic(order.schedule_id))
            try:
                result = await self._result(order)
                left = deadline - asyncio.get_running_loop().time()
                if result.is_over:
                    return result
                if left <= 0:
                    raise _not_yet(result)
                await asyncio.wait([waiter], timeout=min(left, 1.0))
            finally:
                self._notifications.leave(schedule_topic(order.schedule_id), waiter)

    async def _recorded(self, order: Tick) -> bool:
        """Whether the tick has a row now."""
        while True:
            now = self._clock()
            async with self._database.write() as connection:
                if await schedule_ticks.find(connection, order.schedule_id, order.due_at) is not None:
                    return True
                row = await schedule_ticks.lock(connection, order.schedule_id)
                if row is None:
                    return False
                if _is_coming(row, order):
                    await schedule_ticks.account(connection, order.schedule_id, order.due_at, now)
                    continue  # a long outage takes more than one transaction
                left_out = schedule_ticks.is_left_out(row, order.due_at)  # Temporal's calendars know no such weeks
                if row.revision != order.revision or not row.active or left_out:
                    return False
                # Somebody used Temporal's own "trigger" or "backfill".
                await schedule_ticks.ask_by_hand(connection, order.schedule_id, order.due_at, now, None)
                return True

    async def _result(self, order: Tick) -> TickResult:
        async with self._database.read() as connection:
            row = await schedule_ticks.find(connection, order.schedule_id, order.due_at)
        if row is None:
            return _CHANGED
        return TickResult(row.outcome, row.reason, row.pipeline_id, is_over=row.outcome not in OPEN)


def _is_coming(row: PipelineScheduleRow, order: Tick) -> bool:
    """Whether the schedule as it is now will come to this tick."""
    awaited = row.next_tick_at is not None and row.next_tick_at <= order.due_at
    return awaited and schedule_ticks.is_tick(row, order.due_at)


def _not_yet(result: TickResult) -> ApplicationError:
    attempt = activity.info().attempt if activity.in_activity() else 1
    pause = min(MAX_DURATION, SHORTEST * 2 ** min(attempt - 1, 6))
    text = result.reason or "The pipeline is not made yet."
    return ApplicationError(text, type="NotYet", next_retry_delay=pause, category=ApplicationErrorCategory.BENIGN)
