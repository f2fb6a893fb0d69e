"""Deployments: listed and read. Those that no job made are reported, changed and removed here.

Source of the rules: GitLab: "Deployments API".
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.jobs.jobs import shown_jobs
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.repositories.access import RepositoryAccess, RepositoryDep
from api.v4.representation.environments import DeploymentResponse
from api.v4.representation.environments import deployment as shown
from application.access import ProjectAccess
from application.audit import record
from application.environments.deploying import require_deploy
from auth.permissions import Action
from domain.environments.places import MAX_NAME, Place, is_environment_name
from domain.errors import FieldsInvalid, Forbidden, Invalid
from domain.pipelines.status import Status
from domain.variables.environment_variables import environment_slug, guessed_tier
from git.reading.revision import commit_named
from models.repositories.environments import deployment_listings, environments, reported_deployments
from models.repositories.environments.deployment_listings import DeploymentFilter
from models.repositories.environments.reported_deployments import Report
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.repositories.pipelines import jobs
from models.repositories.projects import relations
from models.rows.environments import DeploymentRow

router = RouteList(prefix="/projects/{project}/deployments")

Reported = Literal["running", "success", "failed", "canceled"]


class NewDeployment(BaseModel):
    """Parameters of `POST /projects/:id/deployments`. The environment is made if there is none of this name."""

    environment: str = Field(min_length=1, max_length=MAX_NAME)
    sha: str = Field(min_length=1, max_length=255)
    ref: str = Field(min_length=1, max_length=255)
    tag: bool
    status: Reported


class DeploymentChange(BaseModel):
    """Parameters of `PUT /projects/:id/deployments/:deployment_id`."""

    status: Reported


async def filter_of(
    environment: str = "",
    status: Literal["", "created", "running", "success", "failed", "canceled", "skipped", "blocked"] = "",
    updated_after: datetime | None = None,
    updated_before: datetime | None = None,
    finished_after: datetime | None = None,
    finished_before: datetime | None = None,
    order_by: Literal["id", "iid", "created_at", "updated_at", "finished_at", "ref"] = "id",
    sort: Literal["asc", "desc"] = "asc",
) -> DeploymentFilter:
    """Which deployments a call wants. Raises `Invalid` for a time without a zone."""
    times = {
        "updated_after": updated_after,
        "updated_before": updated_before,
        "finished_after": finished_after,
        "finished_before": finished_before,
    }
    for name, value in times.items():
        if value is not None and value.tzinfo is None:
            raise Invalid(f"{name} is invalid: give a time zone, as in 2026-01-31T12:00:00Z.")
    return DeploymentFilter(environment, status, **times, order_by=order_by, ascending=sort == "asc")


@router.get("", response_model=list[DeploymentResponse])
async def list_deployments(
    project: ProjectDep,
    services: ServicesDep,
    paging: PagingDep,
    wanted: Annotated[DeploymentFilter, Depends(filter_of)],
) -> JSONResponse:
    """The deployments of a project, the oldest first unless told otherwise."""
    async with services.database.read() as connection:
        statement = deployment_listings.of_project(project.row.id, wanted)
        found = await slice_of(connection, statement, paging.number, paging.size)
        items = await presented(services, connection, found.rows, project.row.full_path)
    return paging.response(items, found.total)


@router.get("/{deployment_id}")
async def get_deployment(deployment_id: Id, project: ProjectDep, services: ServicesDep) -> DeploymentResponse:
    """One deployment."""
    async with services.database.read() as connection:
        return await _one(services, connection, project, deployment_id)


@router.post("", status_code=201)
async def create_deployment(
    new: Annotated[NewDeployment, Depends(given(NewDeployment))], repository: RepositoryDep, services: ServicesDep
) -> DeploymentResponse:
    """Report a deployment that no job makes; to a protected environment, whoever may deploy there.

    One that is the same as the current one of its environment changes nothing.
    """
    project = repository.project
    project.require(Action.RUN)
    if not is_environment_name(new.environment):
        raise FieldsInvalid(environment="is invalid: it can contain only letters, digits, spaces and - _ / $ { } .")
    sha, title = await _commit(repository, new)
    report = Report(project.row.id, project.caller.user_id, new.ref, new.tag, sha, Status(new.status), title)
    place = Place(new.environment, tier=guessed_tier(new.environment), slug=environment_slug(new.environment))
    now = services.clock()
    async with services.database.write() as connection:
        ids = await environments.ensure(connection, project.row.id, [place], now)
        environment = await environments.get(connection, ids[new.environment], project.row.id)
        await require_deploy(connection, project, environment)
        made = await reported_deployments.take(connection, environment.id, report, now)
        details = {"id": made, "environment": environment.name, "status": new.status}
        await record(connection, project.caller, project.entity, Happened("deployment_created", details), now)
        return await _one(services, connection, project, made)


async def _commit(repository: RepositoryAccess, new: NewDeployment) -> tuple[str, str]:
    """The full sha of what is deployed, and its title. Raises `FieldsInvalid`."""
    if await commit_named(repository.git, new.ref) is None:
        raise FieldsInvalid(ref="The branch or tag does not exist")
    sha = await commit_named(repository.git, new.sha)
    if sha is None:
        raise FieldsInvalid(sha="The commit does not exist")
    return sha, (await repository.git.commit(sha)).title


@router.put("/{deployment_id}")
async def change_deployment(
    deployment_id: Id,
    change: Annotated[DeploymentChange, Depends(given(DeploymentChange))],
    project: ProjectDep,
    services: ServicesDep,
) -> DeploymentResponse:
    """Say how a deployment goes that no job made."""
    project.require(Action.RUN)
    async with services.database.read() as connection:
        sha = (await deployment_listings.get(connection, deployment_id, project.row.id)).sha
    title, now = await services.repositories.title_of(project.row.id, sha), services.clock()
    async with services.database.write() as connection:
        row = await _to_change(connection, project, deployment_id, "updated")
        await reported_deployments.change(connection, row, Status(change.status), title, now)
        details = {"id": row.id, "status": change.status}
        await record(connection, project.caller, project.entity, Happened("deployment_changed", details), now)
        return await _one(services, connection, project, row.id)


@router.delete("/{deployment_id}", status_code=204)
async def delete_deployment(deployment_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Remove a deployment that no job made, that does not run and is not the current one; maintainers may."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        row = await _to_change(connection, project, deployment_id, "deleted")
        await reported_deployments.remove(connection, row)
        happened = Happened("deployment_removed", {"id": row.id})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)


async def _to_change(
    connection: AsyncConnection, project: ProjectAccess, deployment_id: int, verb: str
) -> DeploymentRow:
    """A deployment to be changed. Raises `Forbidden` for one of a job, and where the caller may not deploy."""
    row = await deployment_listings.get(connection, deployment_id, project.row.id)
    await require_deploy(connection, project, await environments.get(connection, row.environment_id, project.row.id))
    if row.job_id is not None:
        raise Forbidden(f"Forbidden - Deployments created using GitLab CI can not be {verb} using the API")
    return row


async def _one(
    services: Services, connection: AsyncConnection, project: ProjectAccess, deployment_id: int
) -> DeploymentResponse:
    row = await deployment_listings.get(connection, deployment_id, project.row.id)
    (item,) = await presented(services, connection, [row], project.row.full_path)
    return item


async def presented(
    services: Services, connection: AsyncConnection, rows: Sequence[DeploymentRow], full_path: str
) -> list[DeploymentResponse]:
    """Deployments with everything that they point to, in a fixed number of queries."""
    if not rows:
        return []
    places = await environments.by_ids(connection, (row.environment_id for row in rows))
    users = await relations.users(connection, (row.user_id for row in rows))
    job_rows = await jobs.by_ids(connection, (row.job_id for row in rows if row.job_id is not None))
    documents = await shown_jobs(services, connection, list(job_rows.values()), full_path)
    deployables = dict(zip(job_rows, documents, strict=True))
    url = services.settings.url
    return [
        shown(
            row,
            places[row.environment_id],
            users.get(row.user_id),
            None if row.job_id is None else deployables.get(row.job_id),
            url,
        )
        for row in rows
    ]
