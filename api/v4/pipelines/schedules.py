"""Pipeline schedules: listed, read, made, changed, taken over, run now, deleted; and what became of their ticks.

A call is answered when SQL knows it. Temporal is told afterwards, whether it is there or not.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

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
from api.v4.pipelines.schedule_access import ScheduleAccess, ScheduleDep
from api.v4.pipelines.schedule_input import NewSchedule, ScheduleFields, columns_of, found_ref, when_checked
from api.v4.representation.pipelines import PipelineResponse, brief
from api.v4.representation.schedules import (
    AdministeredScheduleResponse,
    ScheduleDetailsResponse,
    ScheduleResponse,
    ScheduleTickResponse,
)
from api.v4.representation.schedules import schedule as shown
from api.v4.representation.schedules import tick as shown_tick
from application.access import ProjectAccess
from application.limits.actions import Limited
from auth.permissions import Action, ScheduleAction
from domain.schedules.cron import parse
from domain.schedules.cron_ticks import next_tick
from domain.schedules.ticks import short_ref
from models.notifications import OUTBOX, SCHEDULES, TICKS
from models.repositories.accounts import accounts
from models.repositories.paging import slice_of
from models.repositories.pipelines import schedule_ticks, schedules
from models.repositories.projects.listings import PipelineFilter
from models.repositories.projects.listings import pipelines as listed
from models.rows.accounts import UserRow
from models.rows.schedules import PipelineScheduleRow
from models.time_zones import zone_of

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
        "last_pipeline": None if last is None else brief(last, path, url),
    }
    if not ScheduleAccess(row, found.project).may(ScheduleAction.ADMINISTER):
        return document
    return {
        **document,
        "variables": [found.shown(services, item) for item in variables],
        "inputs": [{"name": name, "value": value} for name, value in sorted(row.inputs.items())],
    }


def _next_run(row: PipelineScheduleRow, now: datetime) -> datetime | None:
    """When the next tick is; as in GitLab also that of a schedule which is not active."""
    return next_tick(parse(row.cron), zone_of(row.cron_timezone), now)


@router.post("", status_code=201)
async def create_schedule(
    new: Annotated[NewSchedule, Depends(given(NewSchedule))], project: ProjectDep, services: ServicesDep
) -> _Whole:
    """Make a schedule, which is the caller's."""
    project.require(Action.RUN)
    now = services.clock()
    when_checked(new.cron, new.cron_timezone or "UTC", now)
    values = columns_of(new, {})
    values["ref"] = await found_ref(services.repositories, project.row.id, new.ref)
    _require_run(project, values["ref"])
    async with services.database.write() as connection:
        made = await schedules.create(connection, project.row.id, project.caller.user_id, now, values)
        found = ScheduleAccess(await schedules.get(connection, made, project.row.id), project)
        await found.record(connection, "schedule_created", now, description=new.description)
    await services.notifications.notify(SCHEDULES)
    return await _full(services, found)


def _require_run(project: ProjectAccess, full: str) -> None:
    ref, tag = short_ref(full)
    project.require_run(ref, tag=tag)


@router.put("/{schedule_id}")
async def change_schedule(
    changes: Annotated[ScheduleFields, Depends(given(ScheduleFields))], found: ScheduleDep, services: ServicesDep
) -> _Whole:
    """Change a schedule. Ticks that were due before are those of the old one."""
    found.require(ScheduleAction.CHANGE)
    now = services.clock()
    when_checked(changes.cron or found.row.cron, changes.cron_timezone or found.row.cron_timezone, now)
    values = columns_of(changes, found.row.inputs)
    if changes.ref is not None:
        values["ref"] = await found_ref(services.repositories, found.project.row.id, changes.ref)
        _require_run(found.project, values["ref"])
    await _write(services, found, now, values, "schedule_changed")
    return await _full(services, found)


@router.post("/{schedule_id}/take_ownership", status_code=201)
async def take_ownership(found: ScheduleDep, services: ServicesDep) -> _Whole:
    """Make the schedule the caller's: it runs with their rights from now on."""
    found.require(ScheduleAction.ADMINISTER)
    found.project.require(Action.RUN)
    mine = {"owner_id": found.project.caller.user_id}
    await _write(services, found, services.clock(), mine, "schedule_taken_over")
    return await _full(services, found)


async def _write(services: Services, found: ScheduleAccess, now: datetime, values: dict[str, Any], name: str) -> None:
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await schedules.change(connection, found.row.id, now, values)
        await found.record(connection, name, now, changed=sorted(values))
    for topic in (SCHEDULES, TICKS, OUTBOX):
        await services.notifications.notify(topic)


@router.post("/{schedule_id}/play", status_code=201)
async def play_schedule(found: ScheduleDep, services: ServicesDep) -> PlayedResponse:
    """Make a pipeline now, as the caller; when the next one comes is not touched."""
    found.require(ScheduleAction.PLAY)
    services.limits.note(Limited.SCHEDULE_PLAY, found.row.id, found.project.caller.user_id)
    now = services.clock()
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await schedule_ticks.ask_by_hand(connection, found.row.id, now, now, found.project.caller.user_id)
    await services.notifications.notify(TICKS)
    return {"message": "201 Created"}


@router.delete("/{schedule_id}", status_code=204)
async def delete_schedule(found: ScheduleDep, services: ServicesDep) -> Response:
    """Delete a schedule; its pipelines stay."""
    found.require(ScheduleAction.ADMINISTER)
    found.project.require(Action.RUN)
    now = services.clock()
    async with services.database.write() as connection:
        await schedules.get(connection, found.row.id, found.project.row.id)
        await schedules.remove(connection, found.row.id, now)
        await found.record(connection, "schedule_removed", now, description=found.row.description)
    await services.notifications.notify(SCHEDULES)
    return Response(status_code=204)


@router.get("/{schedule_id}/pipelines", response_model=list[PipelineResponse])
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
    return paging.response([brief(row, path, url) for row in page.rows], page.total)


@router.get("/{schedule_id}/ticks", response_model=list[ScheduleTickResponse])
async def ticks_of_schedule(found: ScheduleDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """What became of each tick, the latest first; our own."""
    async with services.database.read() as connection:
        page = await slice_of(connection, schedule_ticks.of_schedule(found.row.id), paging.number, paging.size)
    return paging.response([shown_tick(row) for row in page.rows], page.total)
