"""The versions of what a merge request brings, one a push, and its changes as git writes them."""

from typing import Final

from fastapi.responses import JSONResponse, StreamingResponse

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.v4.access import Id
from api.v4.merge_requests.access import MergeRequestDep
from api.v4.pagination import PagingDep, bounded
from api.v4.representation.commits import CommitResponse, DiffResponse
from api.v4.representation.commits import commit as shown_commit
from api.v4.representation.commits import diff as shown_diff
from api.v4.representation.notes import MergeRequestVersionResponse
from api.v4.representation.notes import version as shown_version
from api.v4.streaming import begun
from git.reading.diffs import changed_files, stream_diff, with_patches
from git.reading.history import HistoryQuery, commits
from git.reading.revision import commit_named
from models.repositories.merge_requests import merge_request_versions, merge_requests
from models.repositories.paging import slice_of

router = RouteList(prefix="/projects/{project}/merge_requests/{iid}", kind=EndsWithCaller)

_MAX_COMMITS: Final = 100
"""Of one version; `commits` of the merge request lists all of the newest one in pages."""


class MergeRequestVersionDetailsResponse(MergeRequestVersionResponse):
    """A version with its commits and changed files."""

    commits: list[CommitResponse]
    diffs: list[DiffResponse]


async def _kept(found: MergeRequestDep, services: ServicesDep) -> None:
    """A merge request of before versions were kept gets its present state as the first one."""
    async with services.database.read() as connection:
        if await merge_request_versions.is_known(connection, found.row):
            return
    async with services.database.write() as connection:
        await merge_requests.keep_version(connection, found.row.id, found.row.updated_at)


@router.get("/versions", response_model=list[MergeRequestVersionResponse])
async def list_versions(found: MergeRequestDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The versions of a merge request, the newest first."""
    await _kept(found, services)
    statement = merge_request_versions.of_merge_request(found.row.id)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([shown_version(row) for row in page.rows], page.total)


@router.get("/versions/{version_id}")
async def get_version(
    version_id: Id, found: MergeRequestDep, services: ServicesDep, unidiff: bool = False
) -> MergeRequestVersionDetailsResponse:
    """One version, with its newest commits and with the files that it changes.

    Answers `state` `without_files` and neither when git has its commits no more.
    """
    async with services.database.read() as connection:
        row = await merge_request_versions.find(connection, found.row.id, version_id)
    known, repository = shown_version(row), found.here.repository
    ends = [sha for sha in (row.head_sha, row.base_sha, row.start_sha) if sha]
    if None in [await commit_named(repository, sha) for sha in ends]:
        return {**known, "state": "without_files", "real_size": "0", "commits": [], "diffs": []}
    files = await changed_files(repository, row.base_sha, row.head_sha) if row.base_sha else []
    patches = await with_patches(repository, row.base_sha, row.head_sha, files)
    revisions = [row.head_sha, *([f"^{row.start_sha}"] if row.start_sha else [])]
    newest = await commits(repository, HistoryQuery(revisions, limit=_MAX_COMMITS))
    path, url = found.project.row.full_path, services.settings.url
    return {
        **known,
        "real_size": str(len(files)),
        "commits": bounded(
            (shown_commit(one, path, url) for one in newest), "Ask for the commits of the merge request"
        ),
        "diffs": [shown_diff(file, unidiff=unidiff) for file in patches],
    }


@router.get("/raw_diffs")
async def get_raw_diffs(found: MergeRequestDep) -> StreamingResponse:
    """All that a merge request changes, as `git diff` writes it."""
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
    row = found.row
    chunks = await begun(stream_diff(found.here.repository, row.base_sha or row.head_sha, row.head_sha))
    return StreamingResponse(chunks, media_type="text/plain; charset=utf-8", headers=headers)
