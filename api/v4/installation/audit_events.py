"""Audit events of the instance, of groups and of projects."""

from typing import Any

from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep, ProjectDep
from api.v4.namespaces.groups import GroupDep
from api.v4.pagination import Paging, PagingDep
from auth.permissions import Action, GroupAction, require_admin
from domain.moments import moment
from models.repositories.installation import audit
from models.repositories.paging import slice_of
from models.rows.audit import AuditEventRow

router = RouteList()


class AuditEventResponse(TypedDict):
    """Something that somebody did; `details` are those of its event, with who it was and from where."""

    id: int
    author_id: int
    entity_id: int
    entity_type: str
    event_name: str
    details: dict[str, Any]
    created_at: str


def shown(row: AuditEventRow) -> AuditEventResponse:
    """An event as GitLab's JSON."""
    return {
        "id": row.id,
        "author_id": row.author_id,
        "entity_id": row.entity_id,
        "entity_type": row.entity_type.capitalize(),
        "event_name": row.event,
        "details": {
            **row.details,
            "author_name": row.author_name,
            "entity_path": row.entity_path,
            "ip_address": row.ip_address,
        },
        "created_at": moment(row.created_at),
    }


async def _page(services: Services, paging: Paging, kind: str | None = None, key: int | None = None) -> JSONResponse:
    async with services.database.read() as connection:
        found = await slice_of(connection, audit.events(kind, key), paging.number, paging.size)
    return paging.response([shown(row) for row in found.rows], found.total)


@router.get("/audit_events", response_model=list[AuditEventResponse])
async def all_events(caller: KnownCallerDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """Everything that was done, newest first; administrators may."""
    require_admin(caller)
    return await _page(services, paging)


@router.get("/projects/{project}/audit_events", response_model=list[AuditEventResponse])
async def events_of_project(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """What was done to a project; maintainers may."""
    project.require(Action.ADMINISTER)
    return await _page(services, paging, "project", project.row.id)


@router.get("/groups/{group}/audit_events", response_model=list[AuditEventResponse])
async def events_of_group(group: GroupDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """What was done to a group; its owners may."""
    group.require(GroupAction.OWN)
    return await _page(services, paging, "group", group.row.id)
