"""Resource groups: listed, read, given another order, and who holds their slot and who comes next.

Like GitLab, all of it wants the access level developer.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import ProjectDep
from api.v4.encoded_paths import decoded
from api.v4.jobs.jobs import shown_jobs
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.jobs import JobResponse
from api.v4.representation.resource_groups import ResourceGroupResponse
from api.v4.representation.resource_groups import resource_group as shown
from application.access import ProjectAccess
from auth.permissions import Action
from domain.pipelines.resource_groups import ProcessMode
from models.notifications import OUTBOX
from models.repositories.paging import every_of, slice_of
from models.repositories.pipelines import resource_groups
from models.rows.environments import ResourceGroupRow

router = RouteList(prefix="/projects/{project}/resource_groups")


class Changes(BaseModel):
    """Parameters of `PUT /projects/:id/resource_groups/:key`."""

    process_mode: ProcessMode | None = None


@dataclass(frozen=True, slots=True)
class GroupAccess:
    """A resource group of a project."""

    row: ResourceGroupRow
    project: ProjectAccess


async def group_of(key: str, project: ProjectDep, services: ServicesDep) -> GroupAccess:
    """The resource group of a path. Raises `NotFound`."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        return GroupAccess(await resource_groups.get(connection, project.row.id, decoded(key)), project)


GroupDep = Annotated[GroupAccess, Depends(group_of)]


@router.get("", response_model=list[ResourceGroupResponse])
async def list_resource_groups(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The resource groups of a project, oldest first."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        statement = resource_groups.of_project(project.row.id)
        page = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([shown(row) for row in page.rows], page.total)


@router.get("/{key}")
async def get_resource_group(found: GroupDep) -> ResourceGroupResponse:
    """One resource group."""
    return shown(found.row)


@router.put("/{key}")
async def change_resource_group(
    changes: Annotated[Changes, Depends(given(Changes))], found: GroupDep, services: ServicesDep
) -> ResourceGroupResponse:
    """Give a resource group another order; it holds for those that wait already."""
    found.project.require(Action.RUN)
    if changes.process_mode is not None:
        async with services.database.write() as connection:
            await resource_groups.set_mode(connection, found.row.id, changes.process_mode, services.clock())
        await services.notifications.notify(OUTBOX)
    async with services.database.read() as connection:
        return shown(await resource_groups.get(connection, found.project.row.id, found.row.key))


@router.get("/{key}/upcoming_jobs", response_model=list[JobResponse])
async def list_upcoming_jobs(found: GroupDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The jobs that are to get the slot, the next one first."""
    async with services.database.read() as connection:
        page = await slice_of(connection, resource_groups.upcoming(found.row), paging.number, paging.size)
        items = await shown_jobs(services, connection, page.rows, found.project.row.full_path)
    return paging.response(items, page.total)


@router.get("/{key}/current_job")
async def get_current_job(found: GroupDep, services: ServicesDep) -> JobResponse | None:
    """The job that holds the slot; null while it is free."""
    async with services.database.read() as connection:
        rows = await every_of(connection, resource_groups.current(found.row))
        items = await shown_jobs(services, connection, rows, found.project.row.full_path)
    return items[0] if items else None
