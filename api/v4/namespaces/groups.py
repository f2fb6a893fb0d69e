"""Groups, the groups within them, and all namespaces; an organisation is a group at the top."""

from typing import Annotated, Literal

from fastapi import Depends, Query
from fastapi.responses import JSONResponse
from pydantic import Field

from api.deps import CallerDep, ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep
from api.v4.encoded_paths import decoded
from api.v4.names import PathName
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.projects.documents import project_page
from api.v4.representation.groups import GroupResponse, NamespaceResponse, group, namespace
from api.v4.representation.projects import PendingRemovalResponse, ProjectResponse
from api.v4.without_effect import GROUP
from application.access import viewer_of
from application.audit import record
from application.group_access import GroupAccess, access_to_group
from application.pods import names
from application.projects import removal
from application.projects.creation import ensure_own_namespace
from auth.permissions import GUEST, OWNER, Caller, GroupAction, require_creation, require_known
from domain.errors import FieldsInvalid, Forbidden, Refused
from domain.projects.path_names import checked_path, checked_top_path, path_from
from models.repositories.accounts import accounts, members
from models.repositories.installation.audit import Entity, Happened
from models.repositories.namespaces import namespaces
from models.repositories.paging import slice_of
from models.repositories.projects.listings import NamespaceFilter, ProjectFilter
from models.repositories.projects.listings import namespaces as listed_namespaces
from models.repositories.projects.listings import projects as listed

router = RouteList()

Visibility = Literal["private", "internal", "public"]


class GroupChanges(Optionals):
    """Parameters of `PUT /groups/:id`; what is not given stays as it is."""

    name: str | None = Field(default=None, min_length=1, max_length=255)
    path: PathName | None = None
    description: str | None = Field(default=None, max_length=2000)
    visibility: Visibility | None = None
    project_creation_level: Literal["noone", "administrator", "owner", "maintainer", "developer"] | None = None
    subgroup_creation_level: Literal["owner", "maintainer"] | None = None

    def columns(self) -> dict[str, str]:
        """The columns to write, but for the path."""
        return self.model_dump(exclude_none=True, exclude={"path", "parent_id"})


class NewGroup(GroupChanges):
    """Parameters of `POST /groups`."""

    name: str = Field(min_length=1, max_length=255)
    parent_id: int | None = Field(default=None, ge=1, le=2**53)


async def group_by(services: Services, caller: Caller, reference: str) -> GroupAccess:
    """A group that the caller may at least see, by id or full path as a path has it. Raises `NotFound`."""
    return await access_to_group(services, caller, decoded(reference))


async def group_of(group: str, services: ServicesDep, caller: CallerDep) -> GroupAccess:
    """The group of a path."""
    return await group_by(services, caller, group)


GroupDep = Annotated[GroupAccess, Depends(group_of)]


@router.get("/groups", response_model=list[GroupResponse])
async def list_groups(
    caller: CallerDep,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    owned: bool = False,
    top_level_only: bool = False,
    min_access_level: Annotated[int, Query(ge=0, le=50)] = 0,
) -> JSONResponse:
    """The groups that the caller may see, by path."""
    least = OWNER if owned else min_access_level
    wanted = NamespaceFilter(viewer_of(caller), search, top_level_only, least, kind="group")
    async with services.database.read() as connection:
        found = await slice_of(connection, listed_namespaces(wanted), paging.number, paging.size)
    return paging.response([group(row, services.settings.url) for row in found.rows], found.total)


@router.post("/organizations", status_code=201)
@router.post("/groups", status_code=201)
async def create_group(
    new: Annotated[NewGroup, Depends(given(NewGroup, without_effect=GROUP))], caller: CallerDep, services: ServicesDep
) -> GroupResponse:
    """Add a group, at the top or within another one. The caller becomes its owner."""
    require_known(caller)
    path = _path_of(new)
    parent = None
    if new.parent_id is not None:
        above = await group_by(services, caller, str(new.parent_id))
        above.require(GroupAction.ADD_GROUP)
        require_creation(caller, "groups", above.row.subgroup_creation_level, above.level)
        parent = above.row
    else:
        await _require_group_maker(services, caller)
    if parent is None and services.cluster is not None and services.cluster.is_draining:
        raise Refused(f"Pod {services.settings.pod} is being drained: it takes no new top-level groups.")
    now, values = services.clock(), {"visibility": "private", **new.columns()}
    noted = dict(values)
    wanted = () if parent else (names.path(path),)
    async with names.claimed(services, *wanted) as claimed, services.database.write() as connection:
        key = await namespaces.create(
            connection,
            path,
            values.pop("name"),
            now,
            parent=parent,
            owner_id=caller.user_id,
            **values,
        )
        await claimed.use(connection, key)
        await members.add_to_group(connection, key, caller.user_id, OWNER)
        row = await namespaces.get_by(connection, key=key)
        entity = Entity("group", key, row.full_path)
        await record(connection, caller, entity, Happened("group_created", noted), now)
        return group(row, services.settings.url)


async def _require_group_maker(services: Services, caller: Caller) -> None:
    """Raise `Forbidden` for who may make no groups at the top."""
    async with services.database.read() as connection:
        row = await accounts.get(connection, caller.user_id)
    if not row.can_create_group and not row.is_admin:
        raise Forbidden("Forbidden: you may make no groups at the top; an administrator can let you.")


def _path_of(new: NewGroup) -> str:
    path = new.path or path_from(new.name)
    try:
        return checked_top_path(path) if new.parent_id is None else checked_path(path)
    except ValueError as error:
        raise FieldsInvalid(path=f"is invalid: {error}") from error


@router.get("/organizations/{group}")
@router.get("/groups/{group}")
async def get_group(found: GroupDep, services: ServicesDep) -> GroupResponse:
    """One group, by id or full path."""
    return group(found.row, services.settings.url)


@router.put("/groups/{group}")
async def change_group(
    changes: Annotated[GroupChanges, Depends(given(GroupChanges, without_effect=GROUP))],
    found: GroupDep,
    services: ServicesDep,
) -> GroupResponse:
    """Change what a group is called, who sees it, and who makes things in it; its owners may."""
    found.require(GroupAction.OWN)
    if changes.path not in {None, found.row.path}:
        raise FieldsInvalid(path="cannot be changed; make a group with the path that you want, and move projects there")
    values = changes.columns()
    async with services.database.write() as connection:
        await namespaces.change(connection, found.row.id, **values)
        await record(connection, found.caller, found.entity, Happened("group_changed", values), services.clock())
        return group(await namespaces.get_by(connection, key=found.row.id), services.settings.url)


@router.delete("/groups/{group}", status_code=202)
async def remove_group(found: GroupDep, services: ServicesDep) -> PendingRemovalResponse:
    """Remove a group with all groups, projects and runners in it; its owners may. What runs is canceled first."""
    found.require(GroupAction.OWN)
    await removal.remove_group(services, found.caller, found.row)
    return {"message": "202 Accepted"}


@router.get("/groups/{group}/subgroups", response_model=list[GroupResponse])
async def groups_within(found: GroupDep, services: ServicesDep, paging: PagingDep, search: str = "") -> JSONResponse:
    """The groups directly within a group that the caller may see."""
    return await _within(found, services, paging, search, directly=True)


@router.get("/groups/{group}/descendant_groups", response_model=list[GroupResponse])
async def all_groups_within(
    found: GroupDep, services: ServicesDep, paging: PagingDep, search: str = ""
) -> JSONResponse:
    """The groups within a group, at any depth, that the caller may see."""
    return await _within(found, services, paging, search, directly=False)


async def _within(
    found: GroupAccess, services: Services, paging: PagingDep, search: str, *, directly: bool
) -> JSONResponse:
    viewer = viewer_of(found.caller)
    wanted = NamespaceFilter(viewer, search, kind="group", within=found.row, directly_within=directly)
    async with services.database.read() as connection:
        rows = await slice_of(connection, listed_namespaces(wanted), paging.number, paging.size)
    return paging.response([group(row, services.settings.url) for row in rows.rows], rows.total)


@router.get("/groups/{group}/projects", response_model=list[ProjectResponse])
async def projects_of_group(
    found: GroupDep,
    services: ServicesDep,
    paging: PagingDep,
    search: str = "",
    include_subgroups: bool = False,
    with_shared: bool = True,
    archived: bool | None = None,
) -> JSONResponse:
    """The projects of a group that the caller may see; those that are shared with it, too."""
    wanted = ProjectFilter(
        viewer_of(found.caller),
        search=search,
        within=found.row.trail,
        namespace_id=None if include_subgroups else found.row.id,
        archived=archived,
        shared_with=found.row.id if with_shared else None,
    )
    return await project_page(services, found.caller, listed(wanted), paging)


@router.get("/namespaces", response_model=list[NamespaceResponse])
async def list_namespaces(
    caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, search: str = ""
) -> JSONResponse:
    """The groups that the caller is a member of, and their own namespace; all of them for administrators."""
    await ensure_own_namespace(services, caller)
    wanted = NamespaceFilter(viewer_of(caller), search, least_level=0 if caller.is_admin else GUEST)
    async with services.database.read() as connection:
        found = await slice_of(connection, listed_namespaces(wanted), paging.number, paging.size)
    return paging.response([namespace(row, services.settings.url) for row in found.rows], found.total)


@router.get("/namespaces/{group}")
async def get_namespace(group: str, services: ServicesDep, caller: CallerDep) -> NamespaceResponse:
    """A group as a namespace, or a person's own namespace."""
    if decoded(group) == caller.username:
        await ensure_own_namespace(services, caller)
    found = await group_by(services, caller, group)
    require_known(caller)
    return namespace(found.row, services.settings.url)
