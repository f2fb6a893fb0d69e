"""The jobs that a runner holds or held."""

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.jobs import JobResponse
from api.v4.representation.jobs import job as shown
from api.v4.runners.access import RunnerDep
from application.access import viewer_of
from application.runners.parameters import Words
from auth.permissions import LEVEL_FOR, Action
from domain.pipelines.status import Status
from models.repositories.paging import slice_of
from models.repositories.projects import relations
from models.repositories.queue import wait_reasons
from models.repositories.runners.runner_listings import JobFilter, jobs_of
from models.rows.pipelines import ListedJobRow

router = RouteList(prefix="/runners")


class JobListWishes(BaseModel):
    """Parameters of a list of a runner's jobs."""

    status: Status | None = None
    system_id: Words = ""
    order_by: Literal["id"] = "id"
    sort: Literal["asc", "desc"] = "desc"


@router.get("/{runner_id}/jobs", response_model=list[JobResponse])
async def list_runner_jobs(
    found: RunnerDep,
    services: ServicesDep,
    paging: PagingDep,
    wishes: Annotated[JobListWishes, Depends(given(JobListWishes))],
) -> JSONResponse:
    """The jobs of a runner, of those projects that the caller may read."""
    wanted = JobFilter(
        status=wishes.status or "",
        system_id=wishes.system_id,
        reader=None if found.caller.is_admin else viewer_of(found.caller),
        level=LEVEL_FOR[Action.READ],
        ascending=wishes.sort == "asc",
    )
    async with services.database.read() as connection:
        page = await slice_of(connection, jobs_of(found.row.id, wanted), paging.number, paging.size)
        return paging.response(await _shown(services, connection, page.rows), page.total)


async def _shown(services: Services, connection: AsyncConnection, rows: Sequence[ListedJobRow]) -> list[JobResponse]:
    """Jobs of any project as JSON, each with its project."""
    around, now, url = (
        await relations.of_jobs(connection, rows, services.settings.times.ticks_until_unresponsive),
        services.clock(),
        services.settings.url,
    )
    standing = await wait_reasons.of_jobs(connection, rows, now, services.settings.times)
    owners = await relations.projects(connection, (row.project_id for row in rows))
    items: list[JobResponse] = []
    for row in rows:
        owner = owners[row.project_id]
        document = shown(row, around, standing, owner.full_path, url, now)
        document["project"] = {
            **document["project"],
            "id": owner.id,
            "name": owner.name,
            "path_with_namespace": owner.full_path,
        }
        items.append(document)
    return items
