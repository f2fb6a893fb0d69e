"""Whose webhooks a path means: those of a project, of a group, or of the installation; and one of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id
from api.v4.owner_access import Access, OwnerAccess, of_group, of_instance, of_project
from api.v4.representation.hooks import HookResponse
from api.v4.representation.hooks import hook as shown
from application.audit import record
from application.hooks.secrets import opened_map
from auth.permissions import Action, GroupAction
from models.repositories.hooks import hooks
from models.repositories.installation.audit import Happened
from models.repositories.owner import Owner
from models.rows.hooks import HookRow

PLACES: Final[tuple[tuple[str, Access], ...]] = (
    ("/projects/{project}/hooks", of_project(Action.ADMINISTER)),
    ("/groups/{group}/hooks", of_group(GroupAction.OWN)),
    ("/hooks", of_instance),
)
"""Where webhooks are, and who may."""


@dataclass(frozen=True, slots=True)
class HookAccess:
    """A webhook, as somebody may read and write it."""

    row: HookRow
    access: OwnerAccess

    @property
    def owner(self) -> Owner:
        """Whose it is."""
        return self.access.owner


def hook_of(owner: Access) -> Callable[..., Awaitable[HookAccess]]:
    """A dependency: the webhook of a path. Raises `NotFound`, `Forbidden`."""

    async def found(hook_id: Id, services: ServicesDep, access: OwnerAccess = Depends(owner)) -> HookAccess:
        async with services.database.read() as connection:
            return HookAccess(await hooks.get(connection, hook_id, access.owner), access)

    return found


def presented(services: Services, row: HookRow) -> HookResponse:
    """A webhook as it is shown."""
    headers, variables = (opened_map(services, column) for column in (row.custom_headers, row.url_variables))
    return shown(row, headers, variables, services.clock())


async def note(connection: AsyncConnection, services: Services, access: OwnerAccess, hook_id: int, name: str) -> None:
    """Write an audit event; the address of a webhook may hold secrets, so only its id is in it."""
    await record(connection, access.caller, access.entity, Happened(name, {"id": hook_id}), services.clock())
