"""Pipeline schedules: listed, read, made, changed, taken over, run now, deleted; and what became of their ticks.

A call is answered when SQL knows it. Temporal is told afterwards, whether it is there or not.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import ProjectDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.pipelines.pipelines import filter_of
from api.v4.pipelines.schedule_access import ScheduleDep
from api.v4.pipelines.schedule_access import shown as shown_variable
from api.v4.representation.pipelines import ListedPipelineResponse, listed_pipeline
from api.v4.representation.schedules import (
    AdministeredScheduleResponse,
    ScheduleDetailsResponse,
    ScheduleResponse,
    ScheduleTickResponse,
)
from api.v4.representation.schedules import schedule as shown
from api.v4.representation.schedules import tick as shown_tick
from application.schedules import changing
from application.schedules.schedule_access import ScheduleAccess
from application.schedules.schedule_input import NewSchedule, ScheduleFields
from auth.permissions import ScheduleAction
from domain.schedules.cron_ticks import next_tick
from models.repositories.accounts import accounts
from models.repositories.paging import slice_of
from models.repositories.pipelines import schedule_ticks, schedules
from models.repositories.projects.listings import PipelineFilter
from models.repositories.projects.listings import pipelines as listed
from models.rows.accounts import UserRow
from models.rows.schedules import PipelineScheduleRow
from models.time_zones import timetable

router = RouteList(prefix="/projects/{project}/pipeline_schedules")


_Whole: TypeAlias = AdministeredScheduleResponse | ScheduleDetailsResponse


class PlayedResponse(TypedDict):
    """That a schedule will make a pipeline."""

    message: str


@router.get("", response_model=list[ScheduleResponse])
async def list_schedules(
    project: ProjectDep,
    services: ServicesDep,
    paging: PagingDep,
    scope: Literal["", "active", "inactive"] = "",
) -> JSONResponse:
    """The schedules of a project."""
    async with services.database.read() as connection:
        found = await slice_of(connection, schedules.of_project(project.row.id, scope), paging.number, paging.size)
        ids = {row.owner_id for row in found.rows if row.owner_id is not None}
        people = {row.id: row for row in await accounts.by_ids(connection, ids)}
    url, now = services.settings.url, services.clock()
    items = [shown(row, _owner(people, row), _next_run(row, now), url) for row in found.rows]
    return paging.response(items, found.total)


def _owner(people: Mapping[int, UserRow], row: PipelineScheduleRow) -> UserRow | None:
    return None if row.owner_id is None else people.get(row.owner_id)


@router.get("/{schedule_id}")
async def get_schedule(found: ScheduleDep, services: ServicesDep) -> _Whole:
    """One schedule; its variables and inputs for those who may administer it."""
    return await _full(services, found)


async def _full(services: Services, found: ScheduleAccess) -> _Whole:
    async with services.database.read() as connection:
        row = await schedules.get(connection, found.row.id, found.project.row.id)
        known = await accounts.by_ids(connection, [] if row.owner_id is None else [row.owner_id])
        last = await schedule_ticks.last_pipeline(connection, row.id)
        variables = await schedules.variables_of(connection, row.id)
    now, url, path = services.clock(), services.settings.url, found.project.row.full_path
    document: ScheduleDetailsResponse = {
        **shown(row, known[0] if known else None, _next_run(row, now), url),
        "last_pipeline": None if last is None else listed_pipeline(last, path, url),
    }
    if not ScheduleAccess(row, found.project).may(ScheduleAction.ADMINISTER):
        return document
    return {
        **document,
        "variables": [shown_variable(services, item) for item in variables],
        "inputs": [{"name": name, "value": value} for name, value in sorted(row.inputs.items())],
    }


def _next_run(row: PipelineScheduleRow, now: datetime) -> datetime | None:
    """When the next tick is; as in GitLab also that of a schedule which is not active."""
    return next_tick(*timetable(row.cron, row.cron_timezone), now)


@router.post("", status_code=201)
async def create_schedule(
    new: Annotated[NewSchedule, Depends(given(NewSchedule))], project: ProjectDep, services: ServicesDep
) -> _Whole:
    """Make a schedule, which is the caller's."""
    return await _full(services, await changing.create(services, project, new))


@router.put("/{schedule_id}")
async def change_schedule(
    changes: Annotated[ScheduleFields, Depends(given(ScheduleFields))], found: ScheduleDep, services: ServicesDep
) -> _Whole:
    """Change a schedule. Ticks that were due before are those of the old one."""
    await changing.change(services, found, changes)
    return await _full(services, found)


@router.post("/{schedule_id}/take_ownership", status_code=201)
async def take_ownership(found: ScheduleDep, services: ServicesDep) -> _Whole:
    """Make the schedule the caller's: it runs with their rights from now on."""
    await changing.take_over(services, found)
    return await _full(services, found)


@router.post("/{schedule_id}/play", status_code=201)
async def play_schedule(found: ScheduleDep, services: ServicesDep) -> PlayedResponse:
    """Make a pipeline now, as the caller; when the next one comes is not touched."""
    await changing.play(services, found)
    return {"message": "201 Created"}


@router.delete("/{schedule_id}", status_code=204)
async def delete_schedule(found: ScheduleDep, services: ServicesDep) -> Response:
    """Delete a schedule; its pipelines stay."""
    await changing.remove(services, found)
    return Response(status_code=204)


@router.get("/{schedule_id}/pipelines", response_model=list[ListedPipelineResponse])
async def pipelines_of_schedule(
    found: ScheduleDep,
    services: ServicesDep,
    paging: PagingDep,
    wanted: Annotated[PipelineFilter, Depends(filter_of)],
) -> JSONResponse:
    """The pipelines that a schedule has made, newest first."""
    statement = schedule_ticks.made_by(found.row.id, listed(found.project.row.id, wanted))
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
    path, url = found.project.row.full_path, services.settings.url
    return paging.response([listed_pipeline(row, path, url) for row in page.rows], page.total)


@router.get("/{schedule_id}/ticks", response_model=list[ScheduleTickResponse])
async def ticks_of_schedule(found: ScheduleDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """What became of each tick, the latest first; our own."""
    async with services.database.read() as connection:
        page = await slice_of(connection, schedule_ticks.of_schedule(found.row.id), paging.number, paging.size)
    return paging.response([shown_tick(row) for row in page.rows], page.total)
