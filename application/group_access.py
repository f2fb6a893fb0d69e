"""What a caller may do with a group."""

from dataclasses import dataclass
from typing import Final

from application.access import viewer_of
from application.services import Services
from auth.permissions import GUEST, OWNER, Caller, GroupAction, is_open, require_in_group
from domain.decimal_number import decimal_number
from domain.errors import NotFound
from models.repositories.accounts import members
from models.repositories.installation.audit import Entity
from models.repositories.namespaces import namespaces
from models.repositories.paging import first_of
from models.repositories.projects.listings import ProjectFilter
from models.repositories.projects.listings import projects as listed
from models.rows.namespaces import NamespaceRow

_NOWHERE: Final = "/0/"
"""The trail of a group that is not there: no id is 0."""


@dataclass(frozen=True, slots=True)
class GroupAccess:
    """A group as one caller may use it."""

    row: NamespaceRow
    caller: Caller
    level: int

    def require(self, action: GroupAction) -> None:
        """Raise unless the caller may do it."""
        require_in_group(self.caller, action, self.level, self.row.visibility)

    @property
    def entity(self) -> Entity:
        """The group as audit events name it."""
        return Entity("group", self.row.id, self.row.full_path)


async def access_to_group(services: Services, caller: Caller, reference: str) -> GroupAccess:
    """A group that the caller may at least see, by id or full path. Raises `NotFound`.

    Whoever may see a project in it may see the group. As `application.access.access_to`, it asks the database the same
    for a group that is not there as for one that the caller may not know of.
    """
    key = decimal_number(reference)
    async with services.database.read() as connection:
        row = await namespaces.find(connection, path=reference if key is None else None, key=key)
        key, trail = (0, _NOWHERE) if row is None else (row.id, row.trail)
        level = OWNER if caller.is_admin else await members.level_in_group(connection, key, caller.user_id)
        if not level and (row is None or not is_open(caller, row.visibility)):
            visible = listed(ProjectFilter(viewer_of(caller), within=trail))
            if await first_of(connection, visible) is None:
                raise NotFound("Group Not Found")
    if row is None:
        raise NotFound("Group Not Found")
    return GroupAccess(row, caller, max(level, GUEST))
