"""Whose jobs may use a project with their tokens: on or off, and the lists of projects and groups."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.namespaces.groups import group_by
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import given
from api.v4.projects.documents import documents
from api.v4.representation.groups import NamespaceResponse, namespace
from api.v4.representation.projects import ProjectResponse
from application.access import ProjectAccess, access_to
from application.audit import record
from application.jobs.sources_elsewhere import source_elsewhere
from application.pods.other_pods import pod_of_id
from auth.permissions import Action, GroupAction
from domain.pods.directory import IdKind
from models.repositories.installation.audit import Happened
from models.repositories.namespaces import job_token_access
from models.repositories.namespaces.job_token_access import SourceElsewhere
from models.repositories.paging import slice_of
from models.repositories.projects import projects

router = RouteList(prefix="/projects/{project}/job_token_scope")


class ScopeChange(BaseModel):
    """The parameter of `PATCH`."""

    enabled: bool


class NewProject(BaseModel):
    """The parameter of `POST .../allowlist`."""

    target_project_id: int = Field(ge=1, le=2**53)


class NewGroup(BaseModel):
    """The parameter of `POST .../groups_allowlist`."""

    target_group_id: int = Field(ge=1, le=2**53)


async def administered(project: ProjectDep) -> ProjectAccess:
    """The project; maintainers may."""
    project.require(Action.ADMINISTER)
    return project


AdministeredDep = Annotated[ProjectAccess, Depends(administered)]


async def _note(
    connection: AsyncConnection, services: Services, where: ProjectAccess, name: str, **details: Any
) -> None:
    await record(connection, where.caller, where.entity, Happened(name, details), services.clock())


class ScopeResponse(TypedDict):
    """Whether only the jobs of some projects get in, and whether our own get out to some only."""

    inbound_enabled: bool
    outbound_enabled: bool


class AdmittedProjectResponse(TypedDict):
    """A project whose jobs get in, and where."""

    source_project_id: int
    target_project_id: int


class AdmittedGroupResponse(TypedDict):
    """A group the jobs of whose projects get in, and where."""

    source_project_id: int
    target_group_id: int


class SourceElsewhereResponse(TypedDict):
    """A project or group of another pod; more is not known of it here."""

    id: int
    name: str
    path: str
    full_path: str
    web_url: str


@router.get("")
async def get_scope(project: AdministeredDep) -> ScopeResponse:
    """Whether only the jobs of projects on the list get in; what our own jobs may reach elsewhere is not limited."""
    return {"inbound_enabled": project.row.job_tokens_limited, "outbound_enabled": False}


@router.patch("", status_code=204)
async def change_scope(
    change: Annotated[ScopeChange, Depends(given(ScopeChange))], project: AdministeredDep, services: ServicesDep
) -> Response:
    """Let only the jobs of projects on the list in, or those of all projects."""
    async with services.database.write() as connection:
        await projects.change(connection, project.row.id, job_tokens_limited=change.enabled)
        await _note(connection, services, project, "job_token_scope_changed", enabled=change.enabled)
    return Response(status_code=204)


@router.get("/allowlist", response_model=list[ProjectResponse | SourceElsewhereResponse])
async def list_projects(project: AdministeredDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The projects whose jobs get in; the project itself is always one. Those of other pods come last."""
    async with services.database.read() as connection:
        statement = job_token_access.projects_of(project.row.id)
        found = await slice_of(connection, statement, paging.number, paging.size)
        items: list[Any] = await documents(services, connection, project.caller, found.rows)
        elsewhere = await job_token_access.projects_elsewhere(connection, project.row.id)
    return _page(services, paging, items, found.total, elsewhere)


def _page(
    services: Services, paging: Paging, items: list[Any], total: int, elsewhere: Sequence[SourceElsewhere]
) -> JSONResponse:
    """A page of what is here (`items` of `total`), and of what is in other pods, after it."""
    first = max((paging.number - 1) * paging.size - total, 0)
    room = paging.size - len(items)
    items += [_elsewhere(row, services.settings.url) for row in elsewhere[first : first + room]]
    return paging.response(items, total + len(elsewhere))


def _elsewhere(row: SourceElsewhere, url: str) -> SourceElsewhereResponse:
    name = row.full_path.rpartition("/")[2]
    return {"id": row.id, "name": name, "path": name, "full_path": row.full_path, "web_url": f"{url}/{row.full_path}"}


@router.post("/allowlist", status_code=201)
async def add_project(
    new: Annotated[NewProject, Depends(given(NewProject))], project: AdministeredDep, services: ServicesDep
) -> AdmittedProjectResponse:
    """Let the jobs of another project in, which the caller must be able to see."""
    key = new.target_project_id
    pod = pod_of_id(services, key, IdKind.PROJECT)
    if pod is None:
        path = (await access_to(services, project.caller, key, Action.SEE)).row.full_path
    else:
        path = await source_elsewhere(services, project, pod, IdKind.PROJECT, key)
    there = "" if pod is None else path
    async with services.database.write() as connection:
        await job_token_access.add(connection, project.row.id, services.clock(), there, source_project_id=key)
        await _note(connection, services, project, "job_token_access_added", project=path)
    return {"source_project_id": project.row.id, "target_project_id": key}


@router.delete("/allowlist/{target_id}", status_code=204)
async def remove_project(target_id: Id, project: AdministeredDep, services: ServicesDep) -> Response:
    """Let the jobs of another project in no more."""
    async with services.database.write() as connection:
        await job_token_access.remove(connection, project.row.id, source_project_id=target_id)
        await _note(connection, services, project, "job_token_access_removed", project_id=target_id)
    return Response(status_code=204)


@router.get("/groups_allowlist", response_model=list[NamespaceResponse | SourceElsewhereResponse])
async def list_groups(project: AdministeredDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The groups the jobs of whose projects get in. Those of other pods come last."""
    statement = job_token_access.groups_of(project.row.id)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
        elsewhere = await job_token_access.groups_elsewhere(connection, project.row.id)
    items: list[Any] = [namespace(row, services.settings.url) for row in found.rows]
    return _page(services, paging, items, found.total, elsewhere)


@router.post("/groups_allowlist", status_code=201)
async def add_group(
    new: Annotated[NewGroup, Depends(given(NewGroup))], project: AdministeredDep, services: ServicesDep
) -> AdmittedGroupResponse:
    """Let the jobs of all projects of a group in, and of the groups within it; the caller must be able to see it."""
    key = new.target_group_id
    pod = pod_of_id(services, key, IdKind.GROUP)
    if pod is None:
        other = await group_by(services, project.caller, str(key))
        other.require(GroupAction.SEE)
        path = other.row.full_path
    else:
        path = await source_elsewhere(services, project, pod, IdKind.GROUP, key)
    there = "" if pod is None else path
    async with services.database.write() as connection:
        await job_token_access.add(connection, project.row.id, services.clock(), there, namespace_id=key)
        await _note(connection, services, project, "job_token_access_added", group=path)
    return {"source_project_id": project.row.id, "target_group_id": key}


@router.delete("/groups_allowlist/{target_id}", status_code=204)
async def remove_group(target_id: Id, project: AdministeredDep, services: ServicesDep) -> Response:
    """Let the jobs of a group in no more."""
    async with services.database.write() as connection:
        await job_token_access.remove(connection, project.row.id, namespace_id=target_id)
        await _note(connection, services, project, "job_token_access_removed", group_id=target_id)
    return Response(status_code=204)
