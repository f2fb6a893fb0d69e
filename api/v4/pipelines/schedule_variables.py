"""Variables of a pipeline schedule: read, added, changed, removed."""

import re
from typing import Annotated, Final

from fastapi import Depends

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.parameters import given
from api.v4.pipelines.schedule_access import ScheduleAccess, ScheduleDep
from api.v4.pipelines.schedule_input import NewScheduleVariable, ScheduleVariableChanges
from api.v4.representation.schedules import ScheduleVariableResponse
from auth.permissions import ScheduleAction
from domain.errors import FieldsInvalid
from models.repositories.pipelines import schedules

router = RouteList(prefix="/projects/{project}/pipeline_schedules/{schedule_id}/variables")

_KEY: Final = re.compile(r"[a-zA-Z0-9_]{1,255}")


@router.get("")
async def list_variables(found: ScheduleDep, services: ServicesDep) -> list[ScheduleVariableResponse]:
    """All of them, by name."""
    found.require(ScheduleAction.ADMINISTER)
    async with services.database.read() as connection:
        return [found.shown(services, row) for row in await schedules.variables_of(connection, found.row.id)]


@router.get("/{key}")
async def get_variable(key: str, found: ScheduleDep, services: ServicesDep) -> ScheduleVariableResponse:
    """One of them."""
    found.require(ScheduleAction.ADMINISTER)
    async with services.database.read() as connection:
        return found.shown(services, await schedules.variable_of(connection, found.row.id, key))


@router.post("", status_code=201)
async def add_variable(
    new: Annotated[NewScheduleVariable, Depends(given(NewScheduleVariable))],
    found: ScheduleDep,
    services: ServicesDep,
) -> ScheduleVariableResponse:
    """Add one."""
    found.require(ScheduleAction.CHANGE)
    if _KEY.fullmatch(new.key) is None:
        raise FieldsInvalid(key="can contain only letters, digits and '_'.")
    values = {**new.model_dump(exclude={"key"}), "value": _sealed(services, found, new.value)}
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await schedules.add_variable(connection, found.row.id, new.key, **values)
        await found.record(connection, "schedule_variable_added", services.clock(), key=new.key)
        return found.shown(services, await schedules.variable_of(connection, found.row.id, new.key))


def _sealed(services: Services, found: ScheduleAccess, value: str) -> str:
    return services.sealer.seal(value, schedules.purpose_of(found.row.id))


@router.put("/{key}")
async def change_variable(
    key: str,
    changes: Annotated[ScheduleVariableChanges, Depends(given(ScheduleVariableChanges))],
    found: ScheduleDep,
    services: ServicesDep,
) -> ScheduleVariableResponse:
    """Change one."""
    found.require(ScheduleAction.CHANGE)
    values = changes.model_dump(exclude_none=True)
    if changes.value is not None:
        values["value"] = _sealed(services, found, changes.value)
    async with services.database.write() as connection:
        await schedules.variable_of(connection, found.row.id, key)
        await schedules.change_variable(connection, found.row.id, key, **values)
        await found.record(connection, "schedule_variable_changed", services.clock(), key=key)
        return found.shown(services, await schedules.variable_of(connection, found.row.id, key))


@router.delete("/{key}", status_code=202)
async def remove_variable(key: str, found: ScheduleDep, services: ServicesDep) -> ScheduleVariableResponse:
    """Take one away; answers with what it was."""
    found.require(ScheduleAction.ADMINISTER)
    async with services.database.write() as connection:
        row = await schedules.variable_of(connection, found.row.id, key)
        await schedules.remove_variable(connection, found.row.id, key)
        await found.record(connection, "schedule_variable_removed", services.clock(), key=key)
    return found.shown(services, row)
