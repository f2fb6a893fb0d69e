"""Typed calls on Temporal's schedules, for those outside: put, delete, list."""

from collections.abc import Collection
from datetime import timedelta
from itertools import groupby
from typing import Final

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleHandle,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode

from domain.schedules.cron_calendars import Calendar
from domain.schedules.ticks import PUNCTUAL, ScheduleFacts, ScheduleInput
from workflows.scheduled_pipeline import ScheduledPipelineWorkflow, tick_workflow_id

RPC: Final = timedelta(seconds=5)
PREFIX: Final = "pipeline-schedule-"
READING: Final = 2
"""Raised when expressions are read otherwise than by the version before: what Temporal has is then replaced."""

_EVERY: Final = {
    "day_of_month": (ScheduleRange(1, 31),),
    "day_of_week": (ScheduleRange(0, 6),),
    "year": (),
}


class Schedules:
    """The schedules of one Temporal namespace that are those of pipelines."""

    def __init__(self, client: Client, task_queue: str) -> None:
        """Use a connected client."""
        self._client = client
        self._queue = task_queue

    def handle(self, schedule_id: int) -> ScheduleHandle:
        """Temporal's schedule of a pipeline schedule."""
        return self._client.get_schedule_handle(f"{PREFIX}{schedule_id}")

    async def put(self, facts: ScheduleFacts) -> None:
        """Make Temporal's schedule, or make it what it is to be. Raises `RPCError`."""
        wanted = self._schedule(facts)
        try:
            await self._client.create_schedule(f"{PREFIX}{facts.schedule_id}", wanted, rpc_timeout=RPC)
        except ScheduleAlreadyRunningError:
            await self.handle(facts.schedule_id).update(_replaced(wanted), rpc_timeout=RPC)

    async def delete(self, schedule_id: int) -> None:
        """Delete Temporal's schedule, if there is one. Raises `RPCError`."""
        try:
            await self.handle(schedule_id).delete(rpc_timeout=RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise

    async def state(self, schedule_id: int) -> str | None:
        """What Temporal has, in the words of `listed`; None if it has no such schedule. Raises `RPCError`."""
        try:
            found = (await self.handle(schedule_id).describe(rpc_timeout=RPC)).schedule.state
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        return _told(found.note, paused=found.paused)

    async def listed(self) -> dict[int, str]:
        """What visibility knows, by schedule: the note that tells revision and state. It may be some seconds old."""
        found: dict[int, str] = {}
        async for entry in await self._client.list_schedules(page_size=1_000, rpc_timeout=RPC):
            number = entry.id.removeprefix(PREFIX)
            if entry.id.startswith(PREFIX) and number.isdecimal() and entry.schedule is not None:
                state = entry.schedule.state
                found[int(number)] = _told(state.note, paused=state.paused)
        return found

    def _schedule(self, facts: ScheduleFacts) -> Schedule:
        return Schedule(
            action=ScheduleActionStartWorkflow(
                ScheduledPipelineWorkflow.run,
                ScheduleInput(facts.schedule_id, facts.revision),
                id=tick_workflow_id(facts.schedule_id),
                task_queue=self._queue,
                static_summary=facts.summary,
            ),
            spec=ScheduleSpec(calendars=[_calendar(each) for each in facts.calendars], time_zone_name=facts.zone),
            policy=SchedulePolicy(
                # What overlaps are pipelines, not these workflows: SQL decides about them (`domain.schedules.ticks`).
                overlap=ScheduleOverlapPolicy.ALLOW_ALL,
                catchup_window=max(facts.window, PUNCTUAL),
            ),
            state=ScheduleState(note=note(facts.revision), paused=not facts.active),
        )


def note(revision: int) -> str:
    """What Temporal's schedule carries, so that a change by hand and an old copy are seen."""
    return f"kept by Perdure, reading {READING}, revision {revision}"


def expected(revision: int, *, active: bool) -> str:
    """What `Schedules.listed` says of a schedule that is as it should be."""
    return _told(note(revision), paused=not active)


def _told(text: str | None, *, paused: bool) -> str:
    return f"{'' if paused else 'not '}paused, {text or ''}"


def _replaced(wanted: Schedule) -> "_Replaced":
    return _Replaced(wanted)


class _Replaced:
    """Puts a schedule in the place of whatever is there."""

    def __init__(self, wanted: Schedule) -> None:
        self._update = ScheduleUpdate(wanted)

    def __call__(self, _now: ScheduleUpdateInput) -> ScheduleUpdate:
        return self._update


def _calendar(each: Calendar) -> ScheduleCalendarSpec:
    return ScheduleCalendarSpec(
        second=(ScheduleRange(0),),
        minute=_ranges(each.minutes),
        hour=_ranges(each.hours),
        day_of_month=_EVERY["day_of_month"] if each.days is None else _ranges(each.days),
        month=_ranges(each.months),
        year=_EVERY["year"] if each.years is None else _ranges(each.years),
        day_of_week=_EVERY["day_of_week"] if each.weekdays is None else _ranges(each.weekdays),
    )


def _ranges(values: Collection[int]) -> tuple[ScheduleRange, ...]:
    """Numbers as few ranges."""
    runs = groupby(enumerate(sorted(values)), key=lambda pair: pair[1] - pair[0])
    found = ([value for _, value in run] for _, run in runs)
    return tuple(ScheduleRange(run[0], run[-1]) for run in found)
