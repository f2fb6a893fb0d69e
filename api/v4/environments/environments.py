"""Environments: listed, read, made, changed, stopped, deleted."""

from typing import Annotated, Final, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.environments.deployments import presented
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.environments import EnvironmentDetailsResponse, EnvironmentResponse
from api.v4.representation.environments import environment as shown
from api.v4.without_effect import CHANGED_ENVIRONMENT, ENVIRONMENT
from application.environments import changing, stopping
from domain.environments.places import MAX_NAME, MAX_URL
from domain.errors import Invalid
from models.repositories.environments import deployment_listings, environments
from models.repositories.paging import slice_of
from models.rows.projects import ProjectRow

Tier = Literal["production", "staging", "testing", "development", "other"]

_SHORTEST_SEARCH: Final = 3

router = RouteList(prefix="/projects/{project}/environments")


class NewEnvironment(BaseModel):
    """Parameters of `POST /projects/:id/environments`."""

    name: str = Field(max_length=MAX_NAME)
    external_url: str | None = Field(default=None, max_length=MAX_URL)
    tier: Tier | None = None


class EnvironmentChanges(BaseModel):
    """Parameters of `PUT /projects/:id/environments/:environment_id`; what is not given stays as it is."""

    external_url: str | None = Field(default=None, max_length=MAX_URL)
    tier: Tier | None = None


class Stop(BaseModel):
    """Parameters of `POST /projects/:id/environments/:environment_id/stop`."""

    force: bool = False


@router.get("", response_model=list[EnvironmentResponse])
async def list_environments(
    project: ProjectDep,
    services: ServicesDep,
    paging: PagingDep,
    name: str = "",
    search: str = "",
    states: Literal["", "available", "stopping", "stopped"] = "",
) -> JSONResponse:
    """The environments of a project, by name."""
    if name and search:
        raise Invalid("name, search are mutually exclusive; give one of them.")
    if search and len(search) < _SHORTEST_SEARCH:
        raise Invalid(f"search is too short: give at least {_SHORTEST_SEARCH} characters of the name.")
    wanted = environments.of_project(project.row.id, name=name, search=search, state=states)
    async with services.database.read() as connection:
        found = await slice_of(connection, wanted, paging.number, paging.size)
    return paging.response([shown(row) for row in found.rows], found.total)


@router.get("/{environment_id}")
async def get_environment(environment_id: Id, project: ProjectDep, services: ServicesDep) -> EnvironmentDetailsResponse:
    """One environment, with its last successful deployment."""
    return await _full(services, environment_id, project.row)


async def _full(services: Services, environment_id: int, project: ProjectRow) -> EnvironmentDetailsResponse:
    async with services.database.read() as connection:
        row = await environments.get(connection, environment_id, project.id)
        last = await deployment_listings.latest_successful(connection, [environment_id])
        items = await presented(services, connection, list(last.values()), project.full_path)
    return {**shown(row), "last_deployment": items[0] if items else None}


@router.post("", status_code=201)
async def create_environment(
    new: Annotated[NewEnvironment, Depends(given(NewEnvironment, without_effect=ENVIRONMENT))],
    project: ProjectDep,
    services: ServicesDep,
) -> EnvironmentResponse:
    """Make an environment that no job has deployed to yet."""
    made = await changing.create(services, project, new.name, tier=new.tier, external_url=new.external_url)
    return shown(made)


@router.put("/{environment_id}")
async def change_environment(
    environment_id: Id,
    changes: Annotated[EnvironmentChanges, Depends(given(EnvironmentChanges, without_effect=CHANGED_ENVIRONMENT))],
    project: ProjectDep,
    services: ServicesDep,
) -> EnvironmentResponse:
    """Change the address or the tier; of a protected environment, whoever may deploy to it."""
    url = changes.external_url or "" if "external_url" in changes.model_fields_set else None
    changed = await changing.change(services, project, environment_id, tier=changes.tier, external_url=url)
    return shown(changed)


@router.post("/{environment_id}/stop")
async def stop_environment(
    environment_id: Id,
    asked: Annotated[Stop, Depends(given(Stop))],
    project: ProjectDep,
    services: ServicesDep,
) -> EnvironmentDetailsResponse:
    """Have the stop job run, or stop the environment at once where there is none, or with `force`."""
    await stopping.stop(services, project, environment_id, force=asked.force)
    return await _full(services, environment_id, project.row)


@router.delete("/{environment_id}", status_code=204)
async def delete_environment(environment_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Delete an environment that is stopped, with its deployments; a protected one, whoever may deploy to it."""
    await stopping.remove(services, project, environment_id)
    return Response(status_code=204)
