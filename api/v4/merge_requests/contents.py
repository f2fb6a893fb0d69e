"""What a merge request brings: commits, changed files, pipelines."""

from typing import Final

from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.v4.merge_requests.access import MergeRequestDep, shown, visible_projects
from api.v4.pagination import PagingDep
from api.v4.pipelines.pipelines import full as full_pipeline
from api.v4.representation.commits import CommitResponse, DiffResponse
from api.v4.representation.commits import commit as shown_commit
from api.v4.representation.commits import diff as shown_diff
from api.v4.representation.merge_requests import MergeRequestDetailsResponse
from api.v4.representation.pipelines import ListedPipelineResponse, PipelineDetailsResponse, listed_pipeline
from application.merge_requests.pipelines import prepared, save
from auth.permissions import Action
from domain.errors import Forbidden, Invalid, NotAllowed
from domain.merge_requests.merge_request import State
from git.reading.diffs import FileDiff, changed_files, with_patches
from git.reading.history import HistoryQuery, commits, count_commits
from models.repositories.merge_requests import merge_requests
from models.repositories.paging import slice_of
from models.repositories.projects import relations

router = RouteList(prefix="/projects/{project}/merge_requests/{iid}", kind=EndsWithCaller)

_MAX_COMMITS: Final = 10_000


class ChangesResponse(MergeRequestDetailsResponse):
    """A merge request with all that it changes; `overflow` says that a patch was left out."""

    changes: list[DiffResponse]
    overflow: bool


@router.get("/commits", response_model=list[CommitResponse])
async def list_commits(found: MergeRequestDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The commits that the source branch has and the target had not, the newest first."""
    row, repository = found.row, found.here.repository
    revisions = [row.head_sha, *([f"^{row.start_sha}"] if row.start_sha else [])]
    page = await commits(repository, HistoryQuery(revisions, skip=paging.offset, limit=paging.size))
    total = paging.offset + len(page)
    if len(page) == paging.size:
        total = await count_commits(repository, row.head_sha) if not row.start_sha else await _count(found)
    url, path = services.settings.url, found.project.row.full_path
    return paging.response([shown_commit(one, path, url) for one in page], total)


async def _count(found: MergeRequestDep) -> int:
    query = HistoryQuery([found.row.head_sha, f"^{found.row.start_sha}"], limit=_MAX_COMMITS)
    return len(await commits(found.here.repository, query))


async def _files(found: MergeRequestDep) -> list[FileDiff]:
    row = found.row
    return await changed_files(found.here.repository, row.base_sha, row.head_sha) if row.base_sha else []


@router.get("/diffs", response_model=list[DiffResponse])
async def list_diffs(found: MergeRequestDep, paging: PagingDep, unidiff: bool = False) -> JSONResponse:
    """The files that a merge request changes, with their patches."""
    files, row = await _files(found), found.row
    page = await with_patches(
        found.here.repository, row.base_sha, row.head_sha, files, first=paging.offset, count=paging.size
    )
    return paging.response([shown_diff(file, unidiff=unidiff) for file in page], len(files))


@router.get("/changes")
async def get_changes(found: MergeRequestDep, services: ServicesDep, unidiff: bool = False) -> ChangesResponse:
    """A merge request with all that it changes."""
    files, row = await _files(found), found.row
    patches = await with_patches(found.here.repository, row.base_sha, row.head_sha, files)
    changes = [shown_diff(file, unidiff=unidiff) for file in patches]
    cut = len(files) > len(patches) or any(file.collapsed or file.too_large for file in patches)
    return {**await shown(services, found), "changes": changes, "overflow": cut}


@router.get("/pipelines", response_model=list[ListedPipelineResponse])
async def list_pipelines(found: MergeRequestDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The pipelines of a merge request, and those of pushes of its head, as far as the caller may see them."""
    async with services.database.read() as connection:
        page = await slice_of(connection, merge_requests.pipelines_of(found.row), paging.number, paging.size)
    seen = await visible_projects(services, page.rows, found)
    rows = [row for row in page.rows if row.project_id in seen]
    return paging.response(
        [listed_pipeline(row, seen[row.project_id].full_path, services.settings.url) for row in rows], page.total
    )


@router.post("/pipelines")
async def create_pipeline(found: MergeRequestDep, services: ServicesDep) -> PipelineDetailsResponse:
    """Make a pipeline for the head of a merge request.

    That of a fork runs in the target's project if the caller may run pipelines there, else in the fork: whoever asks
    has looked at what the fork wants to run. Answers 405 for one that is not open, 400 when no job is for it.
    """
    if not found.project.caller.is_known:
        found.project.require(Action.RUN)
    if found.row.state != State.OPENED:
        raise NotAllowed("Method Not Allowed")
    try:
        found.project.require(Action.RUN)
        in_target = True
    except Forbidden:
        in_target = False
        if found.here.same_project:
            raise
    user_id = found.project.caller.user_id
    ready = await prepared(services, found.here, user_id, in_target=in_target)
    if ready is None:
        raise Forbidden("Forbidden: there is no configuration, or you may run no pipelines of the source branch.")
    saved = await save(services, found.here, ready)
    if saved is None:
        raise NotAllowed("Method Not Allowed: the merge request has changed meanwhile.")
    if saved.pipeline_id is None:
        raise Invalid(str(ready.made.error))
    async with services.database.read() as connection:
        known = await relations.projects(connection, [ready.project.id])
    return await full_pipeline(services, saved.pipeline_id, known[ready.project.id])
