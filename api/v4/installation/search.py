"""Search: in the installation, in a group, in a project. GitLab: "Search API".

Found is what the caller may list, and nothing else: each scope narrows the statement of its list.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Depends
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep, ProjectDep
from api.v4.merge_requests.merge_requests import readable_projects, request_page
from api.v4.namespaces.groups import GroupDep
from api.v4.pagination import Paging, PagingDep
from api.v4.projects.documents import project_page
from api.v4.repositories.found_contents import (
    FoundCommitResponse,
    FoundFileResponse,
    found_commits,
    found_files,
    found_notes,
)
from api.v4.representation.merge_requests import MergeRequestResponse
from api.v4.representation.milestones import MilestoneResponse, web_url
from api.v4.representation.milestones import milestone as shown_milestone
from api.v4.representation.notes import NoteResponse
from api.v4.representation.people import PersonResponse, person
from api.v4.representation.projects import ProjectResponse
from application.access import viewer_of
from auth.permissions import Caller
from domain.errors import Invalid
from models.repositories.accounts import members
from models.repositories.accounts.people import PeopleFilter, people
from models.repositories.merge_requests import merge_requests
from models.repositories.merge_requests.merge_requests import MergeRequestFilter
from models.repositories.paging import Listing, slice_of
from models.repositories.projects import milestones, relations
from models.repositories.projects.listings import ProjectFilter
from models.repositories.projects.listings import projects as listed_projects
from models.rows.accounts import UserRow
from models.rows.labels import MilestoneRow

router = RouteList(kind=EndsWithCaller)

Listed: TypeAlias = ProjectResponse | PersonResponse | MergeRequestResponse | MilestoneResponse
"""What is found; all items of a response are of one kind, that of the scope."""
FoundInProject: TypeAlias = Listed | NoteResponse | FoundFileResponse | FoundCommitResponse
"""The same in a project."""

MAX_TEXT: Final = 256
"""Characters of what is looked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call looks for: `text` in a `scope`; `state` narrows merge requests, `ref` names a commit."""

    scope: str
    text: str
    state: str
    ref: str
    caller: Caller
    services: Services
    paging: Paging


async def asked_of(
    caller: KnownCallerDep,
    services: ServicesDep,
    paging: PagingDep,
    scope: str = "",
    search: str = "",
    state: str = "",
    ref: str = "",
) -> Asked:
    """What a call looks for. Raises `Invalid`."""
    text = search.strip()
    if not text or len(text) > MAX_TEXT or not text.isprintable():
        fault = "invalid" if text else "missing"
        raise Invalid(f"search is {fault}: give one line of 1 to {MAX_TEXT} printable characters.")
    if state not in {"", "all", "opened", "closed", "merged", "locked"}:
        raise Invalid("state does not have a valid value")
    return Asked(scope, text, "" if state == "all" else state, ref, caller, services, paging)


AskedDep = Annotated[Asked, Depends(asked_of)]


async def _projects(asked: Asked, trail: str = "") -> JSONResponse:
    wanted = ProjectFilter(viewer_of(asked.caller), search=asked.text, within=trail)
    return await project_page(asked.services, asked.caller, listed_projects(wanted), asked.paging)


async def _people(asked: Asked, statement: Listing[UserRow]) -> JSONResponse:
    async with asked.services.database.read() as connection:
        found = await slice_of(connection, statement, asked.paging.number, asked.paging.size)
    return asked.paging.response([person(row, asked.services.settings.url) for row in found.rows], found.total)


async def _requests(asked: Asked, projects: Any) -> JSONResponse:
    wanted = MergeRequestFilter(projects=projects, search=asked.text, state=asked.state)
    return await request_page(asked.services, asked.paging, merge_requests.listed(wanted))


async def _milestones(asked: Asked, projects: Any, groups: Sequence[int] = ()) -> JSONResponse:
    statement = milestones.found(projects, asked.text, groups)
    async with asked.services.database.read() as connection:
        page = await slice_of(connection, statement, asked.paging.number, asked.paging.size)
        owners = await relations.projects(connection, {row.project_id for row in page.rows})
        around = await relations.namespaces(connection, {row.namespace_id for row in page.rows})
    today, url = asked.services.clock().date(), asked.services.settings.url

    def pages(row: MilestoneRow) -> str:
        owner = None if row.project_id is None else owners.get(row.project_id)
        group = None if row.namespace_id is None else around.get(row.namespace_id)
        return web_url(url, "" if owner is None else owner.full_path, group)

    return asked.paging.response([shown_milestone(row, pages(row), today) for row in page.rows], page.total)


_Find = Callable[[Asked], Awaitable[JSONResponse]]


async def _searched(asked: Asked, scopes: Mapping[str, _Find]) -> JSONResponse:
    find = scopes.get(asked.scope)
    if find is None:
        what = f"invalid: {asked.scope[:40]!r} is not searched here" if asked.scope else "missing"
        raise Invalid(f"scope is {what}; give one of {', '.join(sorted(scopes))}.")
    return await find(asked)


@router.get("/search", response_model=list[Listed])
async def search(asked: AskedDep) -> JSONResponse:
    """What the caller may list of the whole installation: `merge_requests`, `milestones`, `projects`, `users`."""
    everywhere = readable_projects(asked.caller)
    scopes: dict[str, _Find] = {
        "projects": _projects,
        "users": lambda one: _people(one, people(PeopleFilter(search=one.text))),
        "merge_requests": lambda one: _requests(one, everywhere),
        "milestones": lambda one: _milestones(one, everywhere),
    }
    return await _searched(asked, scopes)


@router.get("/groups/{group}/search", response_model=list[Listed])
async def search_group(asked: AskedDep, group: GroupDep) -> JSONResponse:
    """The same of a group and the groups within it; its people are its members."""
    row = group.row
    within = readable_projects(group.caller, row.trail)
    scopes: dict[str, _Find] = {
        "projects": lambda one: _projects(one, row.trail),
        "users": lambda one: _people(one, members.narrowed(members.all_of_group(row), one.text)),
        "merge_requests": lambda one: _requests(one, within),
        "milestones": lambda one: _milestones(one, within, [row.id]),
    }
    return await _searched(asked, scopes)


@router.get("/projects/{project}/search", response_model=list[FoundInProject])
async def search_project(asked: AskedDep, project: ProjectDep) -> JSONResponse:
    """The same of a project, with `blobs`, `commits` and `notes`.

    `blobs` are text files of a commit (`ref`, the default branch without one) that hold the text, each at the first
    line with it.
    """
    row = project.row
    only = [row.id]
    services, paging = asked.services, asked.paging
    scopes: dict[str, _Find] = {
        "users": lambda one: _people(one, members.narrowed(members.all_of_project(row), one.text)),
        "merge_requests": lambda one: _requests(one, only),
        "milestones": lambda one: _milestones(one, only),
        "notes": lambda one: found_notes(services, project, paging, one.text),
        "blobs": lambda one: found_files(services, project, paging, one.text, one.ref),
        "commits": lambda one: found_commits(services, project, paging, one.text, one.ref),
    }
    return await _searched(asked, scopes)
