"""Making, changing, taking over, running and deleting pipeline schedules, whatever door it comes through.

All is written to SQL, which is the truth; Temporal is told afterwards, whether it is there or not.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from application.access import ProjectAccess
from application.limits.actions import Limited
from application.schedules.schedule_access import ScheduleAccess
from application.schedules.schedule_input import (
    NewSchedule,
    NewScheduleVariable,
    ScheduleFields,
    columns_of,
    found_ref,
    when_checked,
)
from application.schedules.variables import replace_all
from application.services import Services
from auth.permissions import Action, ScheduleAction
from domain.schedules.ticks import short_ref
from models.notifications import OUTBOX, SCHEDULES, TICKS, project_topic, schedule_topic
from models.repositories.pipelines import schedule_ticks, schedules


async def create(
    services: Services, project: ProjectAccess, new: NewSchedule, variables: Sequence[NewScheduleVariable] = ()
) -> ScheduleAccess:
    """Make a schedule, which is the caller's, with these variables. Raises `FieldsInvalid`, `Forbidden`."""
    project.require(Action.RUN)
    now = services.clock()
    when_checked(new.cron, new.cron_timezone or "UTC", now)
    values = columns_of(new, {})
    values["ref"] = await found_ref(services.repositories, project.row.id, new.ref)
    _require_run(project, values["ref"])
    async with services.database.write() as connection:
        made = await schedules.create(connection, project.row.id, project.caller.user_id, now, values)
        found = ScheduleAccess(await schedules.get(connection, made, project.row.id), project)
        await found.record(connection, "schedule_created", now, description=new.description)
        await replace_all(services, connection, found, variables, now)
    await _show(services, found)
    await services.notifications.notify(SCHEDULES)
    return found


def _require_run(project: ProjectAccess, full: str) -> None:
    ref, tag = short_ref(full)
    project.require_run(ref, tag=tag)


async def change(
    services: Services,
    found: ScheduleAccess,
    changes: ScheduleFields,
    variables: Sequence[NewScheduleVariable] | None = None,
) -> None:
    """Change a schedule, and let it have these `variables` and no others; None leaves them as they are.

    Ticks that were due before are those of the old one. Raises `FieldsInvalid`, `Forbidden`.
    """
    found.require(ScheduleAction.CHANGE)
    now = services.clock()
    if changes.cron is not None or changes.cron_timezone is not None:  # an earlier version took what is refused now
        when_checked(changes.cron or found.row.cron, changes.cron_timezone or found.row.cron_timezone, now)
    values = columns_of(changes, found.row.inputs)
    if changes.ref is not None:
        values["ref"] = await found_ref(services.repositories, found.project.row.id, changes.ref)
        _require_run(found.project, values["ref"])
    await _write(services, found, now, values, "schedule_changed", variables)


async def take_over(services: Services, found: ScheduleAccess) -> None:
    """Make the schedule the caller's: it runs with their rights from now on, so they need the right to run its ref."""
    found.require(ScheduleAction.ADMINISTER)
    found.require_run()
    mine = {"owner_id": found.project.caller.user_id}
    await _write(services, found, services.clock(), mine, "schedule_taken_over")


async def _write(
    services: Services,
    found: ScheduleAccess,
    now: datetime,
    values: dict[str, Any],
    name: str,
    variables: Sequence[NewScheduleVariable] | None = None,
) -> None:
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await schedules.change(connection, found.row.id, now, values)
        await found.record(connection, name, now, changed=sorted(values))
        if variables is not None:
            await replace_all(services, connection, found, variables, now)
    await _show(services, found)
    await services.notifications.notify(SCHEDULES)
    await services.notifications.notify(TICKS)
    await services.notifications.notify(OUTBOX)


async def _show(services: Services, found: ScheduleAccess) -> None:
    """Let whoever watches the schedule, or the list that it is in, look."""
    await services.notifications.show(schedule_topic(found.row.id), project_topic(found.project.row.id))


async def play(services: Services, found: ScheduleAccess) -> None:
    """Make a pipeline now, as the caller; when the next one comes is not touched. Raises `TooMany`."""
    found.require(ScheduleAction.PLAY)
    services.limits.note(Limited.SCHEDULE_PLAY, found.row.id, found.project.caller.user_id)
    now = services.clock()
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await schedule_ticks.ask_by_hand(connection, found.row.id, now, now, found.project.caller.user_id)
    await _show(services, found)
    await services.notifications.notify(TICKS)


async def remove(services: Services, found: ScheduleAccess) -> None:
    """Delete a schedule; its pipelines stay."""
    found.require(ScheduleAction.ADMINISTER)
    found.project.require(Action.RUN)
    now = services.clock()
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await schedules.remove(connection, found.row.id, now)
        await found.record(connection, "schedule_removed", now, description=found.row.description)
    await _show(services, found)
    await services.notifications.notify(SCHEDULES)
