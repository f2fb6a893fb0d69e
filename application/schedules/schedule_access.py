"""A pipeline schedule as one caller may use it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from application.audit import record
from application.services import Services
from auth.permissions import Action, ScheduleAction, may_schedule, require_schedule
from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.schedules.ticks import short_ref
from models.repositories.installation.audit import Happened
from models.repositories.pipelines import schedules
from models.rows.schedules import PipelineScheduleRow


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
            self.require_run()

    def require_run(self) -> None:
        """Raise unless the caller may run pipelines on its ref."""
        ref, tag = short_ref(self.row.ref)
        self.project.require_run(ref, tag=tag)

    def is_open(self, action: ScheduleAction) -> bool:
        """Whether `require` lets the caller pass: for what only shows a button."""
        try:
            self.require(action)
            self.project.require(Action.RUN)
        except (Forbidden, NotFound, Unauthenticated):
            return False
        return True

    async def record(self, connection: AsyncConnection, name: str, now: datetime, **details: Any) -> None:
        """Write down what the caller did to it."""
        happened = Happened(name, {"id": self.row.id, **details})
        await record(connection, self.project.caller, self.project.entity, happened, now)


async def access_to_schedule(services: Services, project: ProjectAccess, schedule_id: int) -> ScheduleAccess:
    """A schedule of a project. Raises `NotFound`."""
    async with services.database.read() as connection:
        return ScheduleAccess(await schedules.get(connection, schedule_id, project.row.id), project)
