"""The pipeline schedule that a route names in its path, as one caller may use it."""

from typing import Annotated

from fastapi import Depends

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.representation.schedules import ScheduleVariableResponse
from api.v4.representation.schedules import variable as presented
from application.schedules.schedule_access import ScheduleAccess, access_to_schedule
from application.schedules.variables import opened_value
from models.rows.schedules import ScheduleVariableRow


async def schedule_of(schedule_id: Id, project: ProjectDep, services: ServicesDep) -> ScheduleAccess:
    """The schedule of a path. Raises `NotFound`."""
    return await access_to_schedule(services, project, schedule_id)


ScheduleDep = Annotated[ScheduleAccess, Depends(schedule_of)]


def shown(services: Services, variable: ScheduleVariableRow) -> ScheduleVariableResponse:
    """A variable of a schedule as GitLab's JSON."""
    return presented(variable, opened_value(services, variable))
