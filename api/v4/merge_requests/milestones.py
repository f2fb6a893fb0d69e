"""Milestones of projects and of groups: the same routes below both."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final, Literal

from fastapi import Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.merge_requests.access import surrounded
from api.v4.merge_requests.planning_access import PlanningAccess, planning_of_group, planning_of_project
from api.v4.owned_routes import mounted, of_owner
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.merge_requests import MergeRequestResponse
from api.v4.representation.merge_requests import listed as shown_request
from api.v4.representation.milestones import MilestoneResponse, web_url
from api.v4.representation.milestones import milestone as shown_milestone
from application.access import viewer_of
from domain.errors import FieldsInvalid
from models.repositories.paging import Listing, slice_of
from models.repositories.projects import milestones, relations
from models.repositories.projects.listings import readable_ids
from models.rows.labels import MilestoneRow
from models.rows.merge_requests import MergeRequestRow

_MAX_DESCRIPTION: Final = 1_048_576
_STATES: Final = {"close": "closed", "activate": "active"}


class _Written(Optionals):
    """What people say of a milestone."""

    description: str | None = Field(default=None, max_length=_MAX_DESCRIPTION)
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


async def _shown(planning: PlanningAccess, services: Services, rows: Sequence[MilestoneRow]) -> list[MilestoneResponse]:
    ids = {row.namespace_id for row in rows if row.namespace_id is not None}
    async with services.database.read() as connection:
        groups = await relations.namespaces(connection, ids)
    path = planning.row.full_path
    url, today = services.settings.url, services.clock().date()

    def pages(row: MilestoneRow) -> str:
        return web_url(url, path, None if row.namespace_id is None else groups.get(row.namespace_id))

    return [shown_milestone(row, pages(row), today) for row in rows]


async def _row(planning: PlanningAccess, services: Services, key: int) -> MilestoneRow:
    async with services.database.read() as connection:
        return await milestones.find(connection, planning.owner, key)


def _check_days(start: date | None, due: date | None) -> None:
    if start is not None and due is not None and due < start:
        raise FieldsInvalid(due_date="is invalid: it must be on or after start_date.")


async def _change(
    planning: PlanningAccess, services: Services, key: int, changes: MilestoneChanges
) -> MilestoneResponse:
    planning.require_change()
    values = changes.model_dump(exclude_none=True, exclude={"state_event"})
    if changes.state_event is not None:
        values["state"] = _STATES[changes.state_event]
    async with services.database.write() as connection:
        row = await milestones.find(connection, planning.owner, key)
        _check_days(values.get("start_date", row.start_date), values.get("due_date", row.due_date))
        row = await milestones.change(connection, planning.owner, row, services.clock(), **values)
    return (await _shown(planning, services, [row]))[0]


def _requests(planning: PlanningAccess, row: MilestoneRow) -> Listing[MergeRequestRow]:
    """Statement for the merge requests of a milestone, of projects that the caller may read."""
    return milestones.merge_requests(row, readable_ids(viewer_of(planning.caller)))


routes = RouteList()
"""The same calls for the milestones of one kind of owner."""


@routes.get("", response_model=list[MilestoneResponse])
async def list_milestones(
    services: ServicesDep, paging: PagingDep, asked: WantedDep, planning: PlanningAccess = Depends(of_owner)
) -> JSONResponse:
    """The milestones, the newest first; those of groups around a project or group with `include_ancestors`."""
    narrowed = (asked.state, asked.iids, asked.title, asked.search)
    statement = milestones.listed(planning.owner, *narrowed, ancestors=asked.ancestors)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response(await _shown(planning, services, page.rows), page.total)


@routes.post("", status_code=201)
async def create_milestone(
    new: NewDep, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> MilestoneResponse:
    """Add a milestone, as a reporter; that of a group is for all that lies in it."""
    planning.require_change()
    _check_days(new.start_date, new.due_date)
    values = {**new.model_dump(), "description": new.description or ""}
    async with services.database.write() as connection:
        row = await milestones.add(connection, planning.owner, services.clock(), **values)
    return (await _shown(planning, services, [row]))[0]


@routes.get("/{milestone_id}")
async def get_milestone(
    milestone_id: Id, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> MilestoneResponse:
    """One milestone."""
    return (await _shown(planning, services, [await _row(planning, services, milestone_id)]))[0]


@routes.put("/{milestone_id}")
async def change_milestone(
    milestone_id: Id, changes: ChangesDep, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> MilestoneResponse:
    """Change a milestone, close it or open it again."""
    return await _change(planning, services, milestone_id, changes)


@routes.delete("/{milestone_id}", status_code=204)
async def remove_milestone(
    milestone_id: Id, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> Response:
    """Remove a milestone, from merge requests too."""
    planning.require_change()
    async with services.database.write() as connection:
        await milestones.remove(connection, await milestones.find(connection, planning.owner, milestone_id))
    return Response(status_code=204)


@routes.get("/{milestone_id}/merge_requests", response_model=list[MergeRequestResponse])
async def list_requests(
    milestone_id: Id, services: ServicesDep, paging: PagingDep, planning: PlanningAccess = Depends(of_owner)
) -> JSONResponse:
    """The merge requests that are planned for a milestone and that the caller may read, the newest first."""
    statement = _requests(planning, await _row(planning, services, milestone_id))
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
    about = await surrounded(services, page.rows)
    return paging.response([shown_request(row, about) for row in page.rows], page.total)


router = RouteList()
router.include(mounted(routes, "/projects/{project}/milestones", {of_owner: planning_of_project}))
router.include(mounted(routes, "/groups/{group}/milestones", {of_owner: planning_of_group}))
