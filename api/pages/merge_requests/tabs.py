"""The other pages of a merge request: its commits, its pipelines, what it changes."""

from typing import Annotated, Any, Final

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import address_of_page, page
from api.pages.merge_requests.words import STATES
from api.pages.projects.home import Number
from api.pages.repositories.shown_diff import shown_diff
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.merge_requests.access import MergeRequestAccess, merge_request_of, visible_projects
from application.access import ProjectAccess
from domain.merge_requests.merge_request import is_draft, with_draft
from git.reading.history import HistoryQuery, commits
from git.writing.object_writing import EMPTY_TREE
from models.repositories.merge_requests import merge_requests
from models.repositories.paging import slice_of
from models.repositories.pipelines.commit_pipelines import newest_of_commits
from models.repositories.projects import relations

PER_PAGE: Final = 40

router = RouteList(prefix=f"{PREFIX}/-/merge_requests/{{iid}}", kind=EndsWithCaller)

NumberDep = Annotated[Number, Query(alias="page")]


async def _found(services: Services, project: ProjectAccess, iid: int) -> tuple[MergeRequestAccess, dict[str, Any]]:
    """The merge request, and what the head of each of its pages shows."""
    found = await merge_request_of(iid, project, services)
    row = found.row
    named = {key for key in (row.author_id, row.merge_user_id, row.closed_by_id) if key is not None}
    async with services.database.read() as connection:
        people = await relations.users(connection, named)
    source = row.source_branch
    if not found.here.same_project and found.here.source is not None:
        source = f"{found.here.source.full_path}:{source}"
    return found, {
        "project": project.row,
        "row": row,
        "title": with_draft(row.title, draft=False) or row.title,
        "is_draft": is_draft(row.title),
        "people": people,
        "source": source,
        "states": STATES,
        "base": f"/{project.row.full_path}/-/merge_requests/{row.iid}",
    }


@router.get("/commits")
async def commits_page(
    request: Request, iid: Id, project: PageProjectDep, services: ServicesDep, number: NumberDep = 1
) -> Response:
    """The commits that the source branch has and the target had not, the newest first."""
    found, values = await _found(services, project, iid)
    row = found.row
    revisions = [row.head_sha, *([f"^{row.start_sha}"] if row.start_sha else [])]
    query = HistoryQuery(revisions, skip=(number - 1) * PER_PAGE, limit=PER_PAGE + 1)
    seen = await commits(found.here.repository, query)
    async with services.database.read() as connection:
        shas = [commit.sha for commit in seen[:PER_PAGE]]
        statuses = await newest_of_commits(connection, project.row.id, shas)
    return page(
        "merge_requests/commits.html",
        project.caller,
        commits=seen[:PER_PAGE],
        statuses=statuses,
        number=number,
        more=len(seen) > PER_PAGE,
        here=address_of_page(request),
        **values,
    )


@router.get("/pipelines")
async def pipelines_page(
    request: Request, iid: Id, project: PageProjectDep, services: ServicesDep, number: NumberDep = 1
) -> Response:
    """The pipelines of it, and those of pushes of its head, as far as the caller may see them."""
    found, values = await _found(services, project, iid)
    async with services.database.read() as connection:
        pipelines = await slice_of(connection, merge_requests.pipelines_of(found.row), number, PER_PAGE)
    seen = await visible_projects(services, pipelines.rows, found)
    return page(
        "merge_requests/pipelines.html",
        project.caller,
        pipelines=[row for row in pipelines.rows if row.project_id in seen],
        paths={key: row.full_path for key, row in seen.items()},
        number=number,
        last=page_count(pipelines.total, PER_PAGE),
        here=address_of_page(request),
        **values,
    )


@router.get("/diffs")
async def diffs_page(
    request: Request,
    iid: Id,
    project: PageProjectDep,
    services: ServicesDep,
    file: str = "",
    number: NumberDep = 1,
) -> Response:
    """What it changes, some files at a time."""
    found, values = await _found(services, project, iid)
    row, address = found.row, f"{values['base']}/diffs"
    old = row.base_sha or EMPTY_TREE
    return page(
        "merge_requests/diffs.html",
        project.caller,
        diff=await shown_diff(found.here.repository, old, row.head_sha, address, number=number, path=file),
        address=address,
        raw=f"/api/v4/projects/{project.row.id}/merge_requests/{row.iid}/raw_diffs",
        here=address_of_page(request),
        **values,
    )
