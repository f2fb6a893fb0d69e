"""Whose members a path names, and what the caller may do with them: those of a project, or of a group."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import date

from sqlalchemy.ext.asyncio import AsyncConnection

from api.v4.access import SeenProjectDep
from api.v4.namespaces.groups import GroupDep
from application.access import ProjectAccess
from application.group_access import GroupAccess
from auth.permissions import OWNER, Action, Caller, GroupAction
from domain.errors import Forbidden
from models.repositories.accounts import members
from models.repositories.accounts.members import ListedMember
from models.repositories.environments import protected_environments
from models.repositories.installation.audit import Entity
from models.repositories.paging import Listing, every_of


@dataclass(frozen=True, slots=True)
class MemberAccess(ABC):
    """Members as one caller may see and change them; `entity` is what audit events name."""

    caller: Caller
    entity: Entity

    @abstractmethod
    def own(self) -> Listing[ListedMember]:
        """The people of this project or group itself."""

    @abstractmethod
    def all(self) -> Listing[ListedMember]:
        """The same with those of the groups above, each once with the highest level."""

    @abstractmethod
    def require_change(self) -> None:
        """Raise unless the caller may change memberships of others."""

    @abstractmethod
    def require_level(self, level: int) -> None:
        """Raise `Forbidden` unless the caller may give such an access level, or take it."""

    @abstractmethod
    async def add(self, connection: AsyncConnection, user_id: int, level: int, expires_on: date | None) -> None:
        """Give a person an access level."""

    @abstractmethod
    async def change(self, connection: AsyncConnection, user_id: int, level: int, expires_on: date | None) -> None:
        """Give a member another access level. Raises `Forbidden` where nobody would own a group any more."""

    @abstractmethod
    async def remove(self, connection: AsyncConnection, user_id: int) -> None:
        """End a membership. Raises `Forbidden` where nobody would own a group any more."""


@dataclass(frozen=True, slots=True)
class ProjectMembers(MemberAccess):
    """Those of a project: nobody gives a level above their own, or changes those above themselves."""

    project: ProjectAccess

    def own(self) -> Listing[ListedMember]:
        """The people of the project itself."""
        return members.of_project(self.project.row.id)

    def all(self) -> Listing[ListedMember]:
        """The same with those of the groups that it lies in, or is shared with."""
        return members.all_of_project(self.project.row)

    def require_change(self) -> None:
        """Maintainers may."""
        self.project.require(Action.ADMINISTER)

    def require_level(self, level: int) -> None:
        """At most one's own."""
        own = self.project.level
        if level > own:
            raise Forbidden(f"Forbidden: nobody can give a higher access level than their own ({own}).")

    async def add(self, connection: AsyncConnection, user_id: int, level: int, expires_on: date | None) -> None:
        """Give a person an access level."""
        await members.add_to_project(connection, self.project.row.id, user_id, level, expires_on)

    async def change(self, connection: AsyncConnection, user_id: int, level: int, expires_on: date | None) -> None:
        """Give a member another access level."""
        values = {"access_level": level, "expires_on": expires_on}
        await members.change_in_project(connection, self.project.row.id, user_id, **values)

    async def remove(self, connection: AsyncConnection, user_id: int) -> None:
        """End a membership, and what protected environments let this person do."""
        await members.remove_from_project(connection, self.project.row.id, user_id)
        await protected_environments.forget_person(connection, self.project.row.id, user_id)


@dataclass(frozen=True, slots=True)
class GroupMembers(MemberAccess):
    """Those of a group: its owners give and take every level, and it keeps one owner at least."""

    group: GroupAccess

    def own(self) -> Listing[ListedMember]:
        """The people of the group itself."""
        return members.of_group(self.group.row.id)

    def all(self) -> Listing[ListedMember]:
        """The same with those of the groups above it."""
        return members.all_of_group(self.group.row)

    def require_change(self) -> None:
        """Owners may."""
        self.group.require(GroupAction.OWN)

    def require_level(self, level: int) -> None:
        """Every one: owners have the highest."""

    async def add(self, connection: AsyncConnection, user_id: int, level: int, expires_on: date | None) -> None:
        """Give a person an access level in the group and all within it."""
        await members.add_to_group(connection, self.group.row.id, user_id, level, expires_on)

    async def change(self, connection: AsyncConnection, user_id: int, level: int, expires_on: date | None) -> None:
        """Give a member another access level."""
        values = {"access_level": level, "expires_on": expires_on}
        await members.change_in_group(connection, self.group.row.id, user_id, **values)
        await self._require_owner(connection)

    async def remove(self, connection: AsyncConnection, user_id: int) -> None:
        """End a membership."""
        await members.remove_from_group(connection, self.group.row.id, user_id)
        await self._require_owner(connection)

    async def _require_owner(self, connection: AsyncConnection) -> None:
        rows = await every_of(connection, self.all())
        if not any(row.access_level >= OWNER for row in rows):
            raise Forbidden("Forbidden: this is the last owner of the group; make somebody else an owner first.")


async def of_project(project: SeenProjectDep) -> MemberAccess:
    """The members of a project, which guests may see, too."""
    return ProjectMembers(project.caller, project.entity, project)


async def of_group(group: GroupDep) -> MemberAccess:
    """The members of a group."""
    return GroupMembers(group.caller, group.entity, group)
