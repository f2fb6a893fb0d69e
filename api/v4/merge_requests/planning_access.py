"""Projects and groups as those who plan in them use them: whose labels and milestones a path is about."""

from dataclasses import dataclass

from api.deps import ServicesDep
from api.v4.access import ProjectDep
from api.v4.namespaces.groups import GroupDep
from auth.permissions import Caller, require_planning
from domain.errors import Forbidden
from models.repositories.namespaces import planning_owners
from models.repositories.namespaces.planning_owners import PlanningOwner
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow


@dataclass(frozen=True, slots=True)
class PlanningAccess:
    """Whose they are. `row` is a project's or a group's."""

    owner: PlanningOwner
    row: ProjectRow | NamespaceRow
    caller: Caller
    member_level: int
    archived: bool = False

    def require_change(self) -> None:
        """Raise unless the caller may write labels and milestones."""
        require_planning(self.caller, self.member_level)
        if self.archived:
            raise Forbidden("Forbidden: the project is archived; nothing of it changes until it is unarchived.")


async def planning_of_project(project: ProjectDep, services: ServicesDep) -> PlanningAccess:
    """The project of a path."""
    row = project.row
    async with services.database.read() as connection:
        owner = await planning_owners.of_project(connection, row)
    return PlanningAccess(owner, row, project.caller, project.member_level, archived=row.archived)


async def planning_of_group(group: GroupDep) -> PlanningAccess:
    """The group of a path."""
    return PlanningAccess(planning_owners.of_group(group.row), group.row, group.caller, group.level)
