"""Organisations, also under GitLab's names for them: groups and namespaces."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import KnownCallerDep
from api.v4.encoded_paths import decoded
from api.v4.names import TopPathName
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.projects import group, namespace, project
from auth.permissions import Caller, require_admin
from domain.errors import NotFound
from models.columns import Record
from models.repositories import projects
from models.repositories.listings import ProjectFilter
from models.repositories.listings import projects as listed
from models.repositories.paging import slice_of

router = APIRouter()


class NewOrganisation(BaseModel):
    """Parameters of `POST /groups`."""

    name: str = Field(min_length=1, max_length=255)
    path: TopPathName


async def organisation_of(reference: str, services: Services) -> Record:
    """An organisation by id or path. Raises `NotFound`."""
    text = decoded(reference)
    if text.isascii() and text.isdecimal() and len(text) <= 16:
        async with services.database.read() as connection:
            return await projects.organisation_by(connection, key=int(text))
    async with services.database.read() as connection:
        return await projects.organisation_by(connection, path=text)


async def require_sight(services: Services, caller: Caller, organisation: Record) -> None:
    """Raise `NotFound` unless the caller administers, or sees some project of the organisation."""
    if caller.is_admin:
        return
    visible = listed(ProjectFilter(caller.user_id, organisation_id=organisation.id))
    async with services.database.read() as connection:
        if (await connection.execute(visible.limit(1))).first() is None:
            raise NotFound("404 Group Not Found")


@router.post("/organizations", status_code=201)
@router.post("/groups", status_code=201)
async def create_organisation(
    new: Annotated[NewOrganisation, Depends(given(NewOrganisation))], caller: KnownCallerDep, services: ServicesDep
) -> dict[str, Any]:
    """Add an organisation; only administrators may."""
    require_admin(caller)
    async with services.database.write() as connection:
        key = await projects.create_organisation(connection, new.path, new.name, services.clock())
        return group(await projects.organisation_by(connection, key=key), services.settings.url)


@router.get("/organizations/{reference}")
@router.get("/groups/{reference}")
async def get_organisation(reference: str, caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """One organisation, by id or path."""
    row = await organisation_of(reference, services)
    await require_sight(services, caller, row)
    return group(row, services.settings.url)


@router.get("/groups/{reference}/projects")
async def projects_of_organisation(
    reference: str, caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, search: str = ""
) -> JSONResponse:
    """The projects of an organisation that the caller may see."""
    row = await organisation_of(reference, services)
    await require_sight(services, caller, row)
    wanted = ProjectFilter(caller.user_id, everything=caller.is_admin, search=search, organisation_id=row.id)
    async with services.database.read() as connection:
        found = await slice_of(connection, listed(wanted), paging.number, paging.size)
    return paging.answer([project(item, row, services.settings.url) for item in found.rows], found.total)


@router.get("/namespaces/{reference}")
async def get_namespace(reference: str, caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """The same organisation as a namespace."""
    row = await organisation_of(reference, services)
    await require_sight(services, caller, row)
    return namespace(row, services.settings.url)
