"""Projects shared with groups: a group's members have what they are there, up to `group_access`."""

from datetime import date
from typing import Annotated, Literal

from fastapi import Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, ProjectDep
from api.v4.namespaces.groups import group_by
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.groups import PublicGroupResponse, public_group
from api.v4.representation.people import PersonResponse, person
from api.v4.representation.projects import ShareResponse
from api.v4.representation.projects import share as shown
from application.access import viewer_of
from application.audit import record
from auth.permissions import GUEST, LEVEL_NAMES, Action
from domain.errors import Forbidden, NotFound, Refused
from models.repositories.accounts import members
from models.repositories.environments import protected_environments
from models.repositories.installation.audit import Happened
from models.repositories.namespaces import namespaces, shares
from models.repositories.paging import slice_of
from models.repositories.projects.listings import NamespaceFilter
from models.repositories.projects.listings import namespaces as listed

router = RouteList(prefix="/projects/{project}")


class NewShare(Optionals):
    """Parameters of `POST /projects/:id/share`. It lasts until the beginning of the day `expires_at`."""

    group_id: int = Field(ge=1, le=2**53)
    group_access: Literal[10, 20, 30, 40, 50]
    expires_at: date | None = None


@router.post("/share", status_code=201)
async def share_project(
    new: Annotated[NewShare, Depends(given(NewShare))], project: ProjectDep, services: ServicesDep
) -> ShareResponse:
    """Let the members of a group in, with their own level there but `group_access` at most.

    Maintainers may, with a group that they may see, up to their own level. GitLab: "Projects API", "Share a project
    with a group".
    """
    project.require(Action.ADMINISTER)
    group = (await group_by(services, project.caller, str(new.group_id))).row
    if new.group_access > project.level:
        raise Forbidden("Forbidden: nobody can give a higher access level than their own.")
    now = services.clock()
    async with services.database.write() as connection:
        home = await namespaces.get_by(connection, key=project.row.namespace_id)
        if group.id in namespaces.trail_of(home.trail):
            raise Refused("Project cannot be shared with the group it is in or one of its ancestors.")
        row = await shares.add(connection, project.row.id, group.id, new.group_access, now, new.expires_at)
        facts = {"group": group.full_path, "level": LEVEL_NAMES[new.group_access]}
        await record(connection, project.caller, project.entity, Happened("project_shared", facts), now)
    return shown(row)


@router.delete("/share/{shared_group_id}", status_code=204)
async def unshare_project(shared_group_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Let a group's members in no more; maintainers may."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        if not await shares.remove(connection, project.row.id, shared_group_id):
            raise NotFound("Not found")
        await protected_environments.forget_group(connection, project.row.id, shared_group_id)
        happened = Happened("project_unshared", {"group_id": shared_group_id})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)


@router.get("/groups", response_model=list[PublicGroupResponse])
async def groups_of_project(
    project: ProjectDep,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    with_shared: bool = False,
    shared_min_access_level: Annotated[int, Query(ge=0, le=50)] = GUEST,
    skip_groups: Annotated[list[int], Query(alias="skip_groups[]")] = [],  # noqa: B006  # FastAPI copies it
) -> JSONResponse:
    """The groups that a project lies in, those that it is shared with only if they are wanted, by path."""
    groups = listed(NamespaceFilter(viewer_of(project.caller), search, kind="group"))
    least = shared_min_access_level if with_shared else None
    statement = shares.groups_of(groups, project.row, least, without=skip_groups)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([public_group(row, services.settings.url) for row in found.rows], found.total)


@router.get("/users", response_model=list[PersonResponse])
async def users_of_project(
    project: ProjectDep, services: ServicesDep, paging: PagingDep, search: str = ""
) -> JSONResponse:
    """The people of a project, of the groups that it lies in, and of those that it is shared with."""
    statement = members.narrowed(members.all_of_project(project.row), search)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([person(row, services.settings.url) for row in found.rows], found.total)
