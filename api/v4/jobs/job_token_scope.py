"""Whose jobs may use a project with their tokens: on or off, and the lists of projects and groups."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.namespaces.groups import group_by
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.projects.documents import project_page
from api.v4.representation.groups import NamespaceResponse, namespace
from api.v4.representation.projects import ProjectResponse
from application.access import ProjectAccess, access_to
from application.audit import record
from auth.permissions import Action, GroupAction
from models.repositories.installation.audit import Happened
from models.repositories.namespaces import job_token_access
from models.repositories.paging import slice_of
from models.repositories.projects import projects

router = APIRouter(prefix="/projects/{project}/job_token_scope")


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


@router.get("/allowlist", response_model=list[ProjectResponse])
async def list_projects(project: AdministeredDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The projects whose jobs get in; the project itself is always one."""
    statement = job_token_access.projects_of(project.row.id)
    return await project_page(services, project.caller, statement, paging)


@router.post("/allowlist", status_code=201)
async def add_project(
    new: Annotated[NewProject, Depends(given(NewProject))], project: AdministeredDep, services: ServicesDep
) -> AdmittedProjectResponse:
    """Let the jobs of another project in, which the caller must be able to see."""
    other = await access_to(services, project.caller, new.target_project_id, Action.SEE)
    async with services.database.write() as connection:
        await job_token_access.add(connection, project.row.id, services.clock(), source_project_id=other.row.id)
        await _note(connection, services, project, "job_token_access_added", project=other.row.full_path)
    return {"source_project_id": project.row.id, "target_project_id": other.row.id}


@router.delete("/allowlist/{target_id}", status_code=204)
async def remove_project(target_id: Id, project: AdministeredDep, services: ServicesDep) -> Response:
    """Let the jobs of another project in no more."""
    async with services.database.write() as connection:
        await job_token_access.remove(connection, project.row.id, source_project_id=target_id)
        await _note(connection, services, project, "job_token_access_removed", project_id=target_id)
    return Response(status_code=204)


@router.get("/groups_allowlist", response_model=list[NamespaceResponse])
async def list_groups(project: AdministeredDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The groups the jobs of whose projects get in."""
    statement = job_token_access.groups_of(project.row.id)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([namespace(row, services.settings.url) for row in found.rows], found.total)


@router.post("/groups_allowlist", status_code=201)
async def add_group(
    new: Annotated[NewGroup, Depends(given(NewGroup))], project: AdministeredDep, services: ServicesDep
) -> AdmittedGroupResponse:
    """Let the jobs of all projects of a group in, and of the groups within it; the caller must be able to see it."""
    other = await group_by(services, project.caller, str(new.target_group_id))
    other.require(GroupAction.SEE)
    async with services.database.write() as connection:
        await job_token_access.add(connection, project.row.id, services.clock(), namespace_id=other.row.id)
        await _note(connection, services, project, "job_token_access_added", group=other.row.full_path)
    return {"source_project_id": project.row.id, "target_group_id": other.row.id}


@router.delete("/groups_allowlist/{target_id}", status_code=204)
async def remove_group(target_id: Id, project: AdministeredDep, services: ServicesDep) -> Response:
    """Let the jobs of a group in no more."""
    async with services.database.write() as connection:
        await job_token_access.remove(connection, project.row.id, namespace_id=target_id)
        await _note(connection, services, project, "job_token_access_removed", group_id=target_id)
    return Response(status_code=204)
