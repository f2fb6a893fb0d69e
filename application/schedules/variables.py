"""Variables of a pipeline schedule: one added, changed or taken away, or all of them as a form gives them."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.schedules.schedule_access import ScheduleAccess
from application.schedules.schedule_input import NewScheduleVariable, ScheduleVariableChanges
from application.services import Services
from domain.errors import FieldsInvalid
from models.repositories.pipelines import schedules
from models.rows.schedules import ScheduleVariableRow

_KEY: Final = re.compile(r"[a-zA-Z0-9_]{1,255}")


def opened_value(services: Services, row: ScheduleVariableRow) -> str:
    """The value of a variable in clear."""
    return services.sealer.open(row.value, schedules.purpose_of(row.schedule_id))


async def add(
    services: Services, connection: AsyncConnection, found: ScheduleAccess, new: NewScheduleVariable, now: datetime
) -> None:
    """Add one. Raises `FieldsInvalid` for a name that cannot be one, or that is taken."""
    require_key(new.key)
    values = {**new.model_dump(exclude={"key"}), "value": _sealed(services, found, new.value)}
    await schedules.add_variable(connection, found.row.id, new.key, **values)
    await found.record(connection, "schedule_variable_added", now, key=new.key)


async def change(
    services: Services,
    connection: AsyncConnection,
    found: ScheduleAccess,
    key: str,
    changes: ScheduleVariableChanges,
    now: datetime,
) -> None:
    """Change one."""
    values = changes.model_dump(exclude_none=True)
    if changes.value is not None:
        values["value"] = _sealed(services, found, changes.value)
    await schedules.change_variable(connection, found.row.id, key, **values)
    await found.record(connection, "schedule_variable_changed", now, key=key)


async def remove(connection: AsyncConnection, found: ScheduleAccess, key: str, now: datetime) -> None:
    """Take one away."""
    await schedules.remove_variable(connection, found.row.id, key)
    await found.record(connection, "schedule_variable_removed", now, key=key)


async def replace_all(
    services: Services,
    connection: AsyncConnection,
    found: ScheduleAccess,
    wanted: Sequence[NewScheduleVariable],
    now: datetime,
) -> None:
    """Let a schedule have these variables and no others; what stays as it is is not written. Raises `FieldsInvalid`."""
    known = {row.key: row for row in await schedules.variables_of(connection, found.row.id)}
    keys = [one.key for one in wanted]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise FieldsInvalid(variables=f"{', '.join(twice)} stands there twice; leave one of each.")
    for key in known.keys() - set(keys):
        await remove(connection, found, key, now)
    for one in wanted:
        if (row := known.get(one.key)) is None:
            await add(services, connection, found, one, now)
        elif _as_given(services, row) != one:
            changes = ScheduleVariableChanges(**one.model_dump(exclude={"key"}))
            await change(services, connection, found, one.key, changes, now)


def _as_given(services: Services, row: ScheduleVariableRow) -> NewScheduleVariable:
    kind = "file" if row.variable_type == "file" else "env_var"
    return NewScheduleVariable(key=row.key, value=opened_value(services, row), variable_type=kind, raw=row.raw)


def require_key(key: str) -> None:
    """Raise `FieldsInvalid` unless a variable may be called so."""
    if _KEY.fullmatch(key) is None:
        raise FieldsInvalid(key="can contain only letters, digits and '_'.")


def _sealed(services: Services, found: ScheduleAccess, value: str) -> str:
    return services.sealer.seal(value, schedules.purpose_of(found.row.id))
