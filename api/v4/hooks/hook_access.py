"""Whose webhooks a path means: those of a project, of a group, or of the installation; and one of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import CallerDep, ServicesDep
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.namespaces.groups import GroupDep
from api.v4.pipelines.variables import INSTANCE
from api.v4.representation.hooks import HookResponse
from api.v4.representation.hooks import hook as shown
from application.audit import record
from application.hooks.secrets import opened_map
from auth.permissions import Action, Caller, GroupAction, require_admin
from models.repositories.hooks import hooks
from models.repositories.hooks.hooks import HookOwner
from models.repositories.installation.audit import Entity, Happened
from models.rows.hooks import HookRow


@dataclass(frozen=True, slots=True)
class HookHolder:
    """The webhooks of an owner, as somebody may read and write them."""

    owner: HookOwner
    caller: Caller
    entity: Entity


Access: TypeAlias = Callable[..., Awaitable[HookHolder]]


async def of_project(project: ProjectDep) -> HookHolder:
    """Those of a project; maintainers may."""
    project.require(Action.ADMINISTER)
    return HookHolder(HookOwner(project_id=project.row.id), project.caller, project.entity)


async def of_group(group: GroupDep) -> HookHolder:
    """Those of a group; its owners may."""
    group.require(GroupAction.OWN)
    return HookHolder(HookOwner(namespace_id=group.row.id), group.caller, group.entity)


async def of_instance(caller: CallerDep) -> HookHolder:
    """Those of the installation; administrators may."""
    require_admin(caller)
    return HookHolder(HookOwner(), caller, INSTANCE)


PLACES: Final[tuple[tuple[str, Access], ...]] = (
    ("/projects/{project}/hooks", of_project),
    ("/groups/{group}/hooks", of_group),
    ("/hooks", of_instance),
)
"""Where webhooks are, and who may."""


@dataclass(frozen=True, slots=True)
class HookAccess:
    """A webhook, as somebody may read and write it."""

    row: HookRow
    holder: HookHolder

    @property
    def owner(self) -> HookOwner:
        """Whose it is."""
        return self.holder.owner


def hook_of(access: Access) -> Callable[..., Awaitable[HookAccess]]:
    """A dependency: the webhook of a path. Raises `NotFound`, `Forbidden`."""

    async def found(hook_id: Id, services: ServicesDep, holder: HookHolder = Depends(access)) -> HookAccess:
        async with services.database.read() as connection:
            return HookAccess(await hooks.get(connection, hook_id, holder.owner), holder)

    return found


def presented(services: Services, row: HookRow) -> HookResponse:
    """A webhook as it is shown."""
    headers, variables = (opened_map(services, column) for column in (row.custom_headers, row.url_variables))
    return shown(row, headers, variables, services.clock())


async def note(connection: AsyncConnection, services: Services, holder: HookHolder, hook_id: int, name: str) -> None:
    """Write an audit event; the address of a webhook may hold secrets, so only its id is in it."""
    await record(connection, holder.caller, holder.entity, Happened(name, {"id": hook_id}), services.clock())
