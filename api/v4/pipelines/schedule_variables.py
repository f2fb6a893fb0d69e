"""Variables of a pipeline schedule: read, added, changed, removed."""

from typing import Annotated

from fastapi import Depends

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.parameters import given
from api.v4.pipelines.schedule_access import ScheduleDep, shown
from api.v4.representation.schedules import ScheduleVariableResponse
from application.schedules import variables
from application.schedules.schedule_input import NewScheduleVariable, ScheduleVariableChanges
from auth.permissions import ScheduleAction
from models.repositories.pipelines import schedules

router = RouteList(prefix="/projects/{project}/pipeline_schedules/{schedule_id}/variables")


@router.get("")
async def list_variables(found: ScheduleDep, services: ServicesDep) -> list[ScheduleVariableResponse]:
    """All of them, by name."""
    found.require(ScheduleAction.ADMINISTER)
    async with services.database.read() as connection:
        return [shown(services, row) for row in await schedules.variables_of(connection, found.row.id)]


@router.get("/{key}")
async def get_variable(key: str, found: ScheduleDep, services: ServicesDep) -> ScheduleVariableResponse:
    """One of them."""
    found.require(ScheduleAction.ADMINISTER)
    async with services.database.read() as connection:
        return shown(services, await schedules.variable_of(connection, found.row.id, key))


@router.post("", status_code=201)
async def add_variable(
    new: Annotated[NewScheduleVariable, Depends(given(NewScheduleVariable))],
    found: ScheduleDep,
    services: ServicesDep,
) -> ScheduleVariableResponse:
    """Add one."""
    found.require(ScheduleAction.CHANGE)
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await variables.add(services, connection, found, new, services.clock())
        return shown(services, await schedules.variable_of(connection, found.row.id, new.key))


@router.put("/{key}")
async def change_variable(
    key: str,
    changes: Annotated[ScheduleVariableChanges, Depends(given(ScheduleVariableChanges))],
    found: ScheduleDep,
    services: ServicesDep,
) -> ScheduleVariableResponse:
    """Change one."""
    found.require(ScheduleAction.CHANGE)
    async with services.database.write() as connection:
        await schedules.variable_of(connection, found.row.id, key)
        await variables.change(services, connection, found, key, changes, services.clock())
        return shown(services, await schedules.variable_of(connection, found.row.id, key))


@router.delete("/{key}", status_code=202)
async def remove_variable(key: str, found: ScheduleDep, services: ServicesDep) -> ScheduleVariableResponse:
    """Take one away; answers with what it was."""
    found.require(ScheduleAction.ADMINISTER)
    found.require_run()
    async with services.database.write() as connection:
        row = await schedules.variable_of(connection, found.row.id, key)
        await variables.remove(connection, found, key, services.clock())
    return shown(services, row)
