"""Merge requests: listed, read, opened, changed, deleted."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field, field_validator
from sqlalchemy import Select

from api.deps import CallerDep, ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep, ProjectDep
from api.v4.merge_requests.access import MergeRequestAccess, MergeRequestDep, shown, surrounded
from api.v4.merge_requests.planned_requests import planned_for, usable_labels
from api.v4.namespaces.groups import GroupDep
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.merge_requests import MergeRequestDetailsResponse, MergeRequestResponse
from api.v4.representation.merge_requests import listed as shown_in_list
from api.v4.without_effect import MERGE_REQUEST
from application.access import access_to, viewer_of
from application.audit import record
from application.merge_requests import changing
from application.merge_requests.context import around
from application.merge_requests.opening import NewMergeRequest, open_merge_request
from auth.permissions import Action, Caller
from domain.decimal_number import decimal_number
from domain.errors import Invalid, NotFound
from domain.merge_requests.merge_request import (
    MAX_DESCRIPTION,
    MAX_TITLE,
    State,
    changed_labels,
    squashes,
    with_draft,
)
from models.repositories.installation.audit import Happened
from models.repositories.merge_requests import merge_requests
from models.repositories.merge_requests.merge_requests import MergeRequestFilter
from models.repositories.paging import Listing, slice_of
from models.repositories.projects import relations
from models.repositories.projects.listings import readable_ids
from models.rows.merge_requests import MergeRequestRow

router = RouteList()

_MAX_NUMBER: Final = 2**53
_IID_DIGITS: Final = 9


def _words(value: Any) -> Any:
    """Labels as a list, or as text with commas."""
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


class _Written(Optionals):
    """What people write about a merge request."""

    description: str | None = Field(default=None, max_length=MAX_DESCRIPTION)
    labels: list[str] | None = None
    milestone_id: int | None = Field(default=None, ge=0, le=_MAX_NUMBER)
    assignee_id: int | None = Field(default=None, ge=0, le=_MAX_NUMBER)
    assignee_ids: list[int] | None = None
    reviewer_ids: list[int] | None = None
    squash: bool | None = None
    remove_source_branch: bool | None = None

    _labels = field_validator("labels", mode="before")(_words)

    def assignees(self) -> list[int] | None:
        """Whom the work is given to; 0 stands for nobody."""
        if self.assignee_ids is None:
            return None if self.assignee_id is None else [key for key in [self.assignee_id] if key]
        return [key for key in self.assignee_ids if key]


class NewRequest(_Written):
    """Parameters of `POST /projects/:id/merge_requests`, where the project is the one of the source branch."""

    source_branch: str
    target_branch: str
    title: str = Field(min_length=1, max_length=MAX_TITLE)
    target_project_id: int | None = Field(default=None, ge=1, le=_MAX_NUMBER)


class RequestChanges(_Written):
    """Parameters of `PUT /projects/:id/merge_requests/:iid`; what is not given stays as it is."""

    title: str | None = Field(default=None, min_length=1, max_length=MAX_TITLE)
    target_branch: str | None = Field(default=None, min_length=1)
    state_event: Literal["close", "reopen"] | None = None
    add_labels: list[str] | None = None
    remove_labels: list[str] | None = None
    draft: bool | None = None

    _more_labels = field_validator("add_labels", "remove_labels", mode="before")(_words)


async def filter_of(
    request: Request,
    caller: CallerDep,
    state: Literal["opened", "closed", "locked", "merged", "all"] = "all",
    scope: Literal["", "all", "created_by_me", "created-by-me", "assigned_to_me", "assigned-to-me"] = "",
    source_branch: str = "",
    target_branch: str = "",
    author_id: int | None = None,
    author_username: str = "",
    assignee_id: int | None = None,
    source_project_id: int | None = None,
    milestone: str = "",
    search: str = "",
    wip: Literal["", "yes", "no"] = "",
    draft: bool | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    updated_after: datetime | None = None,
    updated_before: datetime | None = None,
    order_by: Literal["created_at", "updated_at", "merged_at", "title"] = "created_at",
    sort: Literal["asc", "desc"] = "desc",
) -> MergeRequestFilter:
    """Which merge requests a call wants."""
    query = request.query_params
    if scope in {"created_by_me", "created-by-me"}:
        author_id = caller.user_id
    if scope in {"assigned_to_me", "assigned-to-me"}:
        assignee_id = caller.user_id
    labels = [label.strip() for text in query.getlist("labels") for label in text.split(",")]
    fields = [name for name in query.get("in", "title,description").split(",") if name in {"title", "description"}]
    return MergeRequestFilter(
        state="" if state == "all" else state,
        source_branch=source_branch,
        target_branch=target_branch,
        author_id=author_id,
        author_username=author_username,
        source_project_id=source_project_id,
        assignee_id=assignee_id,
        iids=_numbers([*query.getlist("iids[]"), *query.getlist("iids")]),
        labels=tuple(label for label in [*labels, *query.getlist("labels[]")] if label),
        milestone=milestone,
        search=search,
        search_in=tuple(fields) or ("title",),
        draft=draft if not wip else wip == "yes",
        created_after=_aware(created_after),
        created_before=_aware(created_before),
        updated_after=_aware(updated_after),
        updated_before=_aware(updated_before),
        order_by=order_by,
        ascending=sort == "asc",
    )


FilterDep = Annotated[MergeRequestFilter, Depends(filter_of)]


def _numbers(texts: Sequence[str]) -> tuple[int, ...]:
    words = [word for text in texts for word in text.split(",")]
    numbers = tuple(number for word in words if (number := decimal_number(word, _IID_DIGITS)) is not None)
    if len(numbers) < len(words):
        raise Invalid("iids is invalid: give numbers of merge requests.")
    return numbers


def _aware(value: datetime | None) -> datetime | None:
    return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


@router.get("/merge_requests", response_model=list[MergeRequestResponse])
async def list_all(
    request: Request, caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, wanted: FilterDep
) -> JSONResponse:
    """Merge requests of all projects that the caller may read: their own without a `scope`."""
    of_all = request.query_params.get("scope", "created_by_me") not in {"created_by_me", "created-by-me"}
    mine = wanted.author_id if of_all else caller.user_id
    return await request_page(services, paging, _of(wanted, readable_projects(caller), author_id=mine))


@router.get("/groups/{group}/merge_requests", response_model=list[MergeRequestResponse])
async def list_of_group(group: GroupDep, services: ServicesDep, paging: PagingDep, wanted: FilterDep) -> JSONResponse:
    """Merge requests of the projects of a group, and of those within it, that the caller may read."""
    return await request_page(services, paging, _of(wanted, readable_projects(group.caller, group.row.trail)))


@router.get("/projects/{project}/merge_requests", response_model=list[MergeRequestResponse])
async def list_of_project(
    project: ProjectDep, services: ServicesDep, paging: PagingDep, wanted: FilterDep
) -> JSONResponse:
    """The merge requests that lead into a project, newest first."""
    return await request_page(services, paging, _of(wanted, [project.row.id]))


def _of(wanted: MergeRequestFilter, ids: Any, **more: Any) -> Listing[MergeRequestRow]:
    fields = {name: getattr(wanted, name) for name in MergeRequestFilter.__slots__}
    return merge_requests.listed(MergeRequestFilter(**{**fields, **more, "projects": ids}))


def readable_projects(caller: Caller, within: str = "") -> Select[Any]:
    """Projects whose code the caller may read: for guests of private ones their merge requests are not there."""
    return readable_ids(viewer_of(caller), within)


async def request_page(services: Services, paging: Paging, statement: Listing[MergeRequestRow]) -> JSONResponse:
    """A page of merge requests as GitLab lists them."""
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    about = await surrounded(services, found.rows)
    return paging.response([shown_in_list(row, about) for row in found.rows], found.total)


@router.get("/projects/{project}/merge_requests/{iid}")
async def get_merge_request(found: MergeRequestDep, services: ServicesDep) -> MergeRequestDetailsResponse:
    """One merge request; whether it can be merged is looked up if anything has moved."""
    return await shown(services, found)


@router.post("/projects/{project}/merge_requests", status_code=201)
async def create_merge_request(
    new: Annotated[NewRequest, Depends(given(NewRequest, without_effect=MERGE_REQUEST))],
    project: ProjectDep,
    services: ServicesDep,
    caller: KnownCallerDep,
) -> MergeRequestDetailsResponse:
    """Open a merge request from a branch of this project, into this one or, from a fork, into another one.

    Its pipeline is there when this answers, if any job is for it.
    """
    project.require(Action.PUSH)
    target = project
    if new.target_project_id not in {None, project.row.id}:
        target = await access_to(services, caller, new.target_project_id or 0)
    labels = await usable_labels(services, target, changed_labels(new.labels or ()))
    wanted = NewMergeRequest(
        source_branch=new.source_branch,
        target_branch=new.target_branch,
        title=new.title,
        description=new.description or "",
        labels=labels,
        milestone_id=await planned_for(services, target, new.milestone_id),
        assignee_ids=await _people(services, new.assignees()),
        reviewer_ids=await _people(services, new.reviewer_ids),
        squash=squashes(target.row.squash_option, new.squash),
        remove_source_branch=bool(new.remove_source_branch),
    )
    key = await open_merge_request(services, project, target, wanted)
    async with services.database.read() as connection:
        row = await merge_requests.get(connection, key)
        if row is None:
            raise NotFound("Merge Request Not Found")
        found = MergeRequestAccess(await around(services, connection, row), target)
    return await shown(services, found)


async def _people(services: Services, ids: Sequence[int] | None) -> list[int]:
    """Those of these people that there are, each once."""
    if not ids:
        return []
    async with services.database.read() as connection:
        known = await relations.users(connection, ids)
    return [key for key in dict.fromkeys(ids) if key in known]


@router.put("/projects/{project}/merge_requests/{iid}")
async def change_merge_request(
    changes: Annotated[RequestChanges, Depends(given(RequestChanges, without_effect=MERGE_REQUEST))],
    found: MergeRequestDep,
    services: ServicesDep,
) -> MergeRequestDetailsResponse:
    """Change what a merge request says, where it leads, or whether it is open."""
    found.require_change()
    values = await _columns(services, found, changes)
    user_id = found.project.caller.user_id
    if values:
        await changing.change(services, found.here, values, user_id)
    if changes.state_event == "close" and found.row.state != State.CLOSED:
        await changing.close(services, found.here, user_id)
    if changes.state_event == "reopen" and found.row.state != State.OPENED:
        await changing.reopen(services, found.here, user_id)
    return await shown(services, found)


async def _columns(services: Services, found: MergeRequestAccess, changes: RequestChanges) -> dict[str, Any]:
    row, assignees = found.row, changes.assignees()
    title = changes.title or row.title
    labels = row.labels if changes.labels is None else changes.labels
    option = found.here.target.squash_option
    named = changed_labels(labels, changes.add_labels or (), changes.remove_labels or ())
    milestone_id = row.milestone_id
    if changes.milestone_id is not None:
        milestone_id = await planned_for(services, found.project, changes.milestone_id)
    values = {
        "title": title if changes.draft is None else with_draft(title, changes.draft),
        "description": changes.description,
        "target_branch": changes.target_branch,
        "labels": named if named == row.labels else await usable_labels(services, found.project, named, row.labels),
        "assignee_ids": None if assignees is None else await _people(services, assignees),
        "reviewer_ids": None if changes.reviewer_ids is None else await _people(services, changes.reviewer_ids),
        "squash": None if changes.squash is None else squashes(option, changes.squash),
        "remove_source_branch": changes.remove_source_branch,
    }
    written = {name: value for name, value in values.items() if value is not None and value != getattr(row, name)}
    return written if milestone_id == row.milestone_id else {**written, "milestone_id": milestone_id}


@router.delete("/projects/{project}/merge_requests/{iid}", status_code=204)
async def delete_merge_request(found: MergeRequestDep, services: ServicesDep) -> Response:
    """Delete a merge request; owners of the project may."""
    found.project.require(Action.OWN)
    await changing.delete(services, found.here)
    async with services.database.write() as connection:
        happened = Happened("merge_request_deleted", {"iid": found.row.iid, "title": found.row.title})
        await record(connection, found.project.caller, found.project.entity, happened, services.clock())
    return Response(status_code=204)
