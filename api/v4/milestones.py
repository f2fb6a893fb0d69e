"""Milestones of projects and of groups: the same routes below both."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from api.deps import ServicesDep, viewer_of
from api.services import Services
from api.v4.access import Id
from api.v4.merge_request_access import surrounded
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import Optionals, given
from api.v4.planning_access import GroupPlanningDep, PlanningAccess, ProjectPlanningDep
from api.v4.representation.merge_requests import listed as shown_request
from api.v4.representation.milestones import milestone as shown_milestone
from api.v4.representation.milestones import web_url
from auth.permissions import REPORTER
from domain.errors import Invalid
from models.columns import Record
from models.repositories import milestones, projects, relations
from models.repositories.listings import ProjectFilter
from models.repositories.listings import projects as listed_projects
from models.repositories.paging import slice_of

router = APIRouter()

_MOST_DESCRIPTION: Final = 1_048_576
_STATES: Final = {"close": "closed", "activate": "active"}


class _Written(Optionals):
    """What people say of a milestone."""

    description: str | None = Field(default=None, max_length=_MOST_DESCRIPTION)
    start_date: date | None = None
    due_date: date | None = None


class NewMilestone(_Written):
    """Parameters of `POST`."""

    title: str = Field(min_length=1, max_length=255)


class MilestoneChanges(_Written):
    """Parameters of `PUT`; what is not given stays."""

    title: str | None = Field(default=None, min_length=1, max_length=255)
    state_event: Literal["close", "activate"] | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which milestones a call lists."""

    iids: tuple[int, ...]
    state: str
    title: str
    search: str
    ancestors: bool


async def wanted(
    iids: Annotated[list[int], Query(alias="iids[]")] = [],  # noqa: B006  (FastAPI copies it)
    state: Literal["", "active", "closed", "all"] = "",
    title: str = "",
    search: str = "",
    include_ancestors: bool = False,
    include_parent_milestones: bool = False,
) -> Wanted:
    """Which milestones a call lists."""
    ancestors = include_ancestors or include_parent_milestones
    return Wanted(tuple(iids), "" if state == "all" else state, title, search, ancestors)


WantedDep = Annotated[Wanted, Depends(wanted)]
NewDep = Annotated[NewMilestone, Depends(given(NewMilestone))]
ChangesDep = Annotated[MilestoneChanges, Depends(given(MilestoneChanges))]


async def _shown(planning: PlanningAccess, services: Services, rows: Sequence[Record]) -> list[dict[str, Any]]:
    async with services.database.read() as connection:
        groups = await relations.namespaces(connection, {row.namespace_id for row in rows})
    path = planning.row.full_path
    url, today = services.settings.url, services.clock().date()
    return [shown_milestone(row, web_url(url, path, groups.get(row.namespace_id)), today) for row in rows]


async def _list(planning: PlanningAccess, services: Services, paging: Paging, asked: Wanted) -> JSONResponse:
    narrowed = (asked.state, asked.iids, asked.title, asked.search)
    statement = milestones.listed(planning.owner, *narrowed, ancestors=asked.ancestors)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
    return paging.answer(await _shown(planning, services, page.rows), page.total)


async def _row(planning: PlanningAccess, services: Services, key: int) -> Record:
    async with services.database.read() as connection:
        return await milestones.find(connection, planning.owner, key)


async def _get(planning: PlanningAccess, services: Services, key: int) -> dict[str, Any]:
    return (await _shown(planning, services, [await _row(planning, services, key)]))[0]


def _check_days(start: date | None, due: date | None) -> None:
    if start is not None and due is not None and due < start:
        raise Invalid("due_date is invalid: it must be on or after start_date.")


async def _create(planning: PlanningAccess, services: Services, new: NewMilestone) -> dict[str, Any]:
    planning.require_change()
    _check_days(new.start_date, new.due_date)
    values = {**new.model_dump(), "description": new.description or ""}
    async with services.database.write() as connection:
        row = await milestones.add(connection, planning.owner, services.clock(), **values)
    return (await _shown(planning, services, [row]))[0]


async def _change(planning: PlanningAccess, services: Services, key: int, changes: MilestoneChanges) -> dict[str, Any]:
    planning.require_change()
    values = changes.model_dump(exclude_none=True, exclude={"state_event"})
    if changes.state_event is not None:
        values["state"] = _STATES[changes.state_event]
    async with services.database.write() as connection:
        row = await milestones.find(connection, planning.owner, key)
        _check_days(values.get("start_date", row.start_date), values.get("due_date", row.due_date))
        row = await milestones.change(connection, planning.owner, row, services.clock(), **values)
    return (await _shown(planning, services, [row]))[0]


async def _remove(planning: PlanningAccess, services: Services, key: int) -> Response:
    planning.require_change()
    async with services.database.write() as connection:
        await milestones.remove(connection, await milestones.find(connection, planning.owner, key))
    return Response(status_code=204)


async def _requests(planning: PlanningAccess, services: Services, paging: Paging, key: int) -> JSONResponse:
    """Those of projects that the caller may read."""
    viewer = viewer_of(planning.caller)
    readable = listed_projects(ProjectFilter(viewer)).order_by(None)
    ids = readable.with_only_columns(projects.project.c.id).where(projects.visible(viewer, REPORTER))
    statement = milestones.merge_requests(await _row(planning, services, key), ids)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
    about = await surrounded(services, page.rows)
    return paging.answer([shown_request(row, about) for row in page.rows], page.total)


@router.get("/projects/{project}/milestones")
async def list_of_project(
    planning: ProjectPlanningDep, services: ServicesDep, paging: PagingDep, asked: WantedDep
) -> JSONResponse:
    """The milestones of a project, the newest first; those of groups around it with `include_ancestors`."""
    return await _list(planning, services, paging, asked)


@router.get("/groups/{group}/milestones")
async def list_of_group(
    planning: GroupPlanningDep, services: ServicesDep, paging: PagingDep, asked: WantedDep
) -> JSONResponse:
    """The milestones of a group, the newest first."""
    return await _list(planning, services, paging, asked)


@router.post("/projects/{project}/milestones", status_code=201)
async def create_in_project(new: NewDep, planning: ProjectPlanningDep, services: ServicesDep) -> dict[str, Any]:
    """Add a milestone to a project, as a reporter."""
    return await _create(planning, services, new)


@router.post("/groups/{group}/milestones", status_code=201)
async def create_in_group(new: NewDep, planning: GroupPlanningDep, services: ServicesDep) -> dict[str, Any]:
    """Add a milestone to a group and all that lies in it, as a reporter."""
    return await _create(planning, services, new)


@router.get("/projects/{project}/milestones/{milestone_id}")
async def get_of_project(milestone_id: Id, planning: ProjectPlanningDep, services: ServicesDep) -> dict[str, Any]:
    """One milestone."""
    return await _get(planning, services, milestone_id)


@router.get("/groups/{group}/milestones/{milestone_id}")
async def get_of_group(milestone_id: Id, planning: GroupPlanningDep, services: ServicesDep) -> dict[str, Any]:
    """One milestone."""
    return await _get(planning, services, milestone_id)


@router.put("/projects/{project}/milestones/{milestone_id}")
async def change_in_project(
    milestone_id: Id, changes: ChangesDep, planning: ProjectPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """Change a milestone, close it or open it again."""
    return await _change(planning, services, milestone_id, changes)


@router.put("/groups/{group}/milestones/{milestone_id}")
async def change_in_group(
    milestone_id: Id, changes: ChangesDep, planning: GroupPlanningDep, services: ServicesDep
) -> dict[str, Any]:
    """Change a milestone, close it or open it again."""
    return await _change(planning, services, milestone_id, changes)


@router.delete("/projects/{project}/milestones/{milestone_id}", status_code=204)
async def remove_from_project(milestone_id: Id, planning: ProjectPlanningDep, services: ServicesDep) -> Response:
    """Remove a milestone, from merge requests too."""
    return await _remove(planning, services, milestone_id)


@router.delete("/groups/{group}/milestones/{milestone_id}", status_code=204)
async def remove_from_group(milestone_id: Id, planning: GroupPlanningDep, services: ServicesDep) -> Response:
    """Remove a milestone, from merge requests too."""
    return await _remove(planning, services, milestone_id)


@router.get("/projects/{project}/milestones/{milestone_id}/merge_requests")
async def requests_of_project(
    milestone_id: Id, planning: ProjectPlanningDep, services: ServicesDep, paging: PagingDep
) -> JSONResponse:
    """The merge requests that are planned for a milestone, the newest first."""
    return await _requests(planning, services, paging, milestone_id)


@router.get("/groups/{group}/milestones/{milestone_id}/merge_requests")
async def requests_of_group(
    milestone_id: Id, planning: GroupPlanningDep, services: ServicesDep, paging: PagingDep
) -> JSONResponse:
    """The merge requests that are planned for a milestone and that the caller may read, the newest first."""
    return await _requests(planning, services, paging, milestone_id)
