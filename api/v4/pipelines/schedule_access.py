"""The pipeline schedule that a route names in its path, as one caller may use it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.representation.schedules import ScheduleVariableResponse
from api.v4.representation.schedules import variable as presented
from application.access import ProjectAccess
from application.audit import record
from auth.permissions import ScheduleAction, may_schedule, require_schedule
from domain.schedules.ticks import short_ref
from models.repositories.installation.audit import Happened
from models.repositories.pipelines import schedules
from models.rows.schedules import PipelineScheduleRow, ScheduleVariableRow


@dataclass(frozen=True, slots=True)
class ScheduleAccess:
    """A schedule of a project."""

    row: PipelineScheduleRow
    project: ProjectAccess

    @property
    def is_mine(self) -> bool:
        """Whether the caller owns it."""
        return self.project.caller.is_known and self.row.owner_id == self.project.caller.user_id

    def may(self, action: ScheduleAction) -> bool:
        """Whether the caller may do it."""
        return may_schedule(self.project.caller, action, self.project.level, is_owner=self.is_mine)

    def require(self, action: ScheduleAction) -> None:
        """Raise unless the caller may do it. What makes it run asks for the right to run pipelines on its ref."""
        require_schedule(self.project.caller, action, self.project.level, is_owner=self.is_mine)
        if action is not ScheduleAction.ADMINISTER:
            ref, tag = short_ref(self.row.ref)
            self.project.require_run(ref, tag=tag)

    async def record(self, connection: AsyncConnection, name: str, now: datetime, **details: Any) -> None:
        """Write down what the caller did to it."""
        happened = Happened(name, {"id": self.row.id, **details})
        await record(connection, self.project.caller, self.project.entity, happened, now)

    def shown(self, services: Services, variable: ScheduleVariableRow) -> ScheduleVariableResponse:
        """A variable of it as GitLab's JSON."""
        return presented(variable, services.sealer.open(variable.value, schedules.purpose_of(self.row.id)))


async def schedule_of(schedule_id: Id, project: ProjectDep, services: ServicesDep) -> ScheduleAccess:
    """The schedule of a path. Raises `NotFound`."""
    async with services.database.read() as connection:
        return ScheduleAccess(await schedules.get(connection, schedule_id, project.row.id), project)


ScheduleDep = Annotated[ScheduleAccess, Depends(schedule_of)]
