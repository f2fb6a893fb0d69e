"""Who has labels and milestones: a project or a group; those of the groups around it count there too."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, Table, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import padded, table_of
from models.repositories.namespaces.group_ancestry import lies_in
from models.repositories.namespaces.namespaces import trail_of
from models.repositories.owner import Owner
from models.rows.namespaces import NamespaceRow
from models.rows.projects import ProjectRow
from models.tables.namespaces import Namespace
from models.tables.projects import Project

namespace = table_of(Namespace)
project = table_of(Project)


@dataclass(frozen=True, slots=True)
class PlanningOwner(Owner):
    """A project or a group; `groups` are the ids of those that it lies in."""

    groups: tuple[int, ...] = ()

    def seen(self, table: Table, *, ancestors: bool = True) -> ColumnElement[bool]:
        """Whether a row is its own or that of a group which it lies in."""
        if not ancestors or not self.groups:
            return self.own(table)
        return or_(self.own(table), table.c.namespace_id.in_(padded(self.groups)))

    def projects(self) -> Select[tuple[int]]:
        """The ids of the projects in which what it has counts."""
        if self.project_id is not None:
            return select(project.c.id).where(project.c.id == self.project_id)
        groups = select(namespace.c.id).where(lies_in(self.namespace_id or 0))
        return select(project.c.id).where(project.c.namespace_id.in_(groups))


async def lock(connection: AsyncConnection, owner: Owner) -> None:
    """Let nobody else add to what it has until the transaction ends."""
    table, key = (project, owner.project_id) if owner.project_id is not None else (namespace, owner.namespace_id)
    await connection.execute(select(table.c.id).where(table.c.id == key).with_for_update())


async def of_project(connection: AsyncConnection, row: ProjectRow) -> PlanningOwner:
    """A project with the groups that it lies in."""
    trail = await connection.execute(select(namespace.c.trail).where(namespace.c.id == row.namespace_id))
    return PlanningOwner(project_id=row.id, groups=trail_of(trail.scalar() or ""))


def of_group(row: NamespaceRow) -> PlanningOwner:
    """A group with those that it lies in."""
    return PlanningOwner(namespace_id=row.id, groups=tuple(key for key in trail_of(row.trail) if key != row.id))
