"""Owners of things as a path names them, and who may: a project, a group, or the installation."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from api.deps import CallerDep
from api.v4.access import ProjectDep
from api.v4.namespaces.groups import GroupDep
from auth.permissions import Action, Caller, GroupAction, require_admin
from models.repositories.installation.audit import Entity
from models.repositories.owner import Owner

INSTANCE: Final = Entity("instance", 1, "")
"""The installation as audit events name it."""


@dataclass(frozen=True, slots=True)
class OwnerAccess:
    """Whose things a call is about, by whom, and how audit events name the owner.

    `organisation_id` is 0 for the installation.
    """

    owner: Owner
    caller: Caller
    entity: Entity
    organisation_id: int = 0


Access: TypeAlias = Callable[..., Awaitable[OwnerAccess]]


def of_project(action: Action) -> Access:
    """A dependency: the project of a path, for those who may do this. Raises `NotFound`, `Forbidden`."""

    async def found(project: ProjectDep) -> OwnerAccess:
        project.require(action)
        owner = Owner(project_id=project.row.id)
        return OwnerAccess(owner, project.caller, project.entity, project.row.organisation_id)

    return found


def of_group(action: GroupAction) -> Access:
    """A dependency: the group of a path, for those who may do this. Raises `NotFound`, `Forbidden`."""

    async def found(group: GroupDep) -> OwnerAccess:
        group.require(action)
        owner = Owner(namespace_id=group.row.id)
        return OwnerAccess(owner, group.caller, group.entity, group.row.organisation_id)

    return found


async def of_instance(caller: CallerDep) -> OwnerAccess:
    """The installation, for administrators. Raises `Forbidden`."""
    require_admin(caller)
    return OwnerAccess(Owner(), caller, INSTANCE)
