"""Deployments: listed and read. They are made by jobs only."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.jobs import shown_jobs
from api.v4.pagination import PagingDep
from api.v4.representation.environments import deployment as shown
from domain.errors import Invalid
from models.columns import Record
from models.repositories import deployment_listings, environments, jobs, relations
from models.repositories.deployment_listings import DeploymentFilter
from models.repositories.paging import slice_of

router = APIRouter(prefix="/projects/{project}/deployments")


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


@router.get("")
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
    return paging.answer(items, found.total)


@router.get("/{deployment_id}")
async def get_deployment(deployment_id: Id, project: ProjectDep, services: ServicesDep) -> dict[str, Any]:
    """One deployment."""
    async with services.database.read() as connection:
        row = await deployment_listings.get(connection, deployment_id, project.row.id)
        (item,) = await presented(services, connection, [row], project.row.full_path)
    return item


async def presented(
    services: Services, connection: AsyncConnection, rows: Sequence[Record], full_path: str
) -> list[dict[str, Any]]:
    """Deployments with everything that they point to, in a fixed number of queries."""
    if not rows:
        return []
    places = await environments.by_ids(connection, (row.environment_id for row in rows))
    users = await relations.users(connection, (row.user_id for row in rows))
    job_rows = await jobs.by_ids(connection, (row.job_id for row in rows if row.job_id is not None))
    documents = await shown_jobs(services, connection, list(job_rows.values()), full_path)
    deployables = dict(zip(job_rows, documents, strict=True))
    return [
        shown(
            row, places[row.environment_id], users.get(row.user_id), deployables.get(row.job_id), services.settings.url
        )
        for row in rows
    ]
