"""Pipeline schedules and their variables; what becomes of their ticks is in `schedule_ticks`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import FieldsInvalid, NotFound
from domain.schedules.cron_ticks import next_tick
from domain.schedules.ticks import CATCH_UP_WINDOW, CatchUp, Overlap
from models.columns import table_of
from models.repositories.paging import Listing
from models.repositories.pipelines import schedule_ticks
from models.rows.schedules import PipelineScheduleRow, ScheduleVariableRow
from models.tables.projects import Project
from models.tables.schedules import PipelineSchedule, ScheduleTick, ScheduleVariable
from models.time_zones import timetable
from models.typed_rows import all_of, first_of, one_of

schedule = table_of(PipelineSchedule)
variable = table_of(ScheduleVariable)
tick = table_of(ScheduleTick)
project = table_of(Project)

_MOVES_TICKS: Final = frozenset({"cron", "cron_timezone", "active"})
"""Columns on which it depends when the next tick is."""
_DEFAULTS: Final[Mapping[str, Any]] = {
    "cron_timezone": "UTC",
    "active": True,
    "inputs": {},
    "overlap": Overlap.ALLOW_ALL.value,
    "catch_up": CatchUp.LAST.value,
    "catch_up_window": CATCH_UP_WINDOW,
}
_SHOWN: Final = frozenset({"owner_id", "updated_at"})
"""Columns of which Temporal knows nothing."""


def of_project(project_id: int, scope: str = "") -> Listing[PipelineScheduleRow]:
    """The schedules of a project in the order of their ids; `scope` may be `active` or `inactive`."""
    statement = select(schedule).where(schedule.c.project_id == project_id, schedule.c.deleted_at.is_(None))
    if scope:
        statement = statement.where(schedule.c.active == (scope == "active"))
    return Listing(statement.order_by(schedule.c.id), PipelineScheduleRow)


async def get(connection: AsyncConnection, schedule_id: int, project_id: int) -> PipelineScheduleRow:
    """A schedule of a project. Raises `NotFound`."""
    statement = of_project(project_id).statement.where(schedule.c.id == schedule_id)
    row = first_of(PipelineScheduleRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Pipeline Schedule Not Found")
    return row


async def create(
    connection: AsyncConnection, project_id: int, owner_id: int, now: datetime, values: Mapping[str, Any]
) -> int:
    """Add a schedule; `values` are its columns. The first tick is the next one. Raises `Invalid`."""
    row = {**_DEFAULTS, **values, "project_id": project_id, "owner_id": owner_id}
    row |= {"revision": 1, "mirrored": 0, "created_at": now, "updated_at": now}
    row["next_tick_at"] = _next(row, now)
    made: int = (await connection.execute(insert(schedule).values(**row).returning(schedule.c.id))).scalar_one()
    return made


async def change(connection: AsyncConnection, schedule_id: int, now: datetime, values: Mapping[str, Any]) -> None:
    """Write columns. Ticks that were due until now are accounted for by what the schedule was. Raises `Invalid`."""
    while (await schedule_ticks.account(connection, schedule_id, now, now)).more:
        continue
    found = await connection.execute(select(schedule).where(schedule.c.id == schedule_id))
    row = one_of(PipelineScheduleRow, found)
    after: dict[str, Any] = {**{name: getattr(row, name) for name in _MOVES_TICKS}, **values}
    changed: dict[str, Any] = {**values, "updated_at": now}
    if any(after[name] != getattr(row, name) for name in _MOVES_TICKS):
        changed["next_tick_at"] = _next(after, now)
    if any(after[name] != getattr(row, name) for name in values if name not in _SHOWN):
        changed["revision"] = row.revision + 1
    await connection.execute(update(schedule).where(schedule.c.id == schedule_id).values(**changed))


async def remove(connection: AsyncConnection, schedule_id: int, now: datetime) -> None:
    """Delete a schedule: nobody sees it any more. `forget` takes its rows away."""
    await schedule_ticks.lock(connection, schedule_id)
    await connection.execute(delete(tick).where(tick.c.schedule_id == schedule_id))
    await connection.execute(delete(variable).where(variable.c.schedule_id == schedule_id))
    values = {"deleted_at": now, "active": False, "next_tick_at": None, "revision": schedule.c.revision + 1}
    await connection.execute(update(schedule).where(schedule.c.id == schedule_id).values(**values))


async def forget(connection: AsyncConnection, schedule_id: int) -> None:
    """Temporal has forgotten a deleted schedule: take its row away."""
    await connection.execute(delete(schedule).where(schedule.c.id == schedule_id, schedule.c.deleted_at.is_not(None)))


def _next(row: Mapping[str, Any], now: datetime) -> datetime | None:
    return next_tick(*timetable(row["cron"], row["cron_timezone"]), now) if row["active"] else None


def purpose_of(schedule_id: int) -> str:
    """What the values of a schedule's variables are sealed for."""
    return f"schedule_variable:{schedule_id}"


async def variables_of(connection: AsyncConnection, schedule_id: int) -> Sequence[ScheduleVariableRow]:
    """The variables of a schedule, by name."""
    statement = select(variable).where(variable.c.schedule_id == schedule_id).order_by(variable.c.key)
    return all_of(ScheduleVariableRow, await connection.execute(statement))


async def variable_of(connection: AsyncConnection, schedule_id: int, name: str) -> ScheduleVariableRow:
    """A variable of a schedule. Raises `NotFound`."""
    wanted = (variable.c.schedule_id == schedule_id, variable.c.key == name)
    row = first_of(ScheduleVariableRow, await connection.execute(select(variable).where(*wanted)))
    if row is None:
        raise NotFound("Pipeline Schedule Variable Not Found")
    return row


async def add_variable(connection: AsyncConnection, schedule_id: int, name: str, **values: Any) -> None:
    """Add a variable. Raises `Invalid` when there is one of that name."""
    await schedule_ticks.lock(connection, schedule_id)
    wanted = (variable.c.schedule_id == schedule_id, variable.c.key == name)
    if (await connection.execute(select(variable.c.key).where(*wanted))).first() is not None:
        raise FieldsInvalid(key="has already been taken")
    await connection.execute(insert(variable).values(schedule_id=schedule_id, key=name, **values))


async def change_variable(connection: AsyncConnection, schedule_id: int, name: str, **values: Any) -> None:
    """Write columns of a variable."""
    wanted = (variable.c.schedule_id == schedule_id, variable.c.key == name)
    if values:
        await connection.execute(update(variable).where(*wanted).values(**values))


async def remove_variable(connection: AsyncConnection, schedule_id: int, name: str) -> None:
    """Take a variable away."""
    wanted = (variable.c.schedule_id == schedule_id, variable.c.key == name)
    await connection.execute(delete(variable).where(*wanted))


@dataclass(frozen=True, slots=True)
class MirroredSchedule(PipelineScheduleRow):
    """A schedule as Temporal is told of it; `full_path` is that of its project."""

    full_path: str


async def to_mirror(connection: AsyncConnection, limit: int) -> Sequence[MirroredSchedule]:
    """Schedules of which Temporal does not know the newest revision, deleted ones too."""
    statement = _mirrored().where(schedule.c.mirrored != schedule.c.revision).limit(limit)
    return all_of(MirroredSchedule, await connection.execute(statement))


async def all_for_mirror(connection: AsyncConnection) -> Sequence[MirroredSchedule]:
    """Every schedule that Temporal is to have."""
    statement = _mirrored().where(schedule.c.deleted_at.is_(None))
    return all_of(MirroredSchedule, await connection.execute(statement))


def _mirrored() -> Select[Any]:
    both = schedule.join(project, project.c.id == schedule.c.project_id)
    return select(schedule, project.c.full_path).select_from(both).order_by(schedule.c.id)


async def mark_mirrored(connection: AsyncConnection, schedule_id: int, revision: int) -> None:
    """Temporal has this revision."""
    statement = update(schedule).where(schedule.c.id == schedule_id, schedule.c.mirrored < revision)
    await connection.execute(statement.values(mirrored=revision))
