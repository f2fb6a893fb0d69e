"""Commits: listed, read, compared."""

import asyncio
import re
from datetime import UTC, datetime
from typing import Annotated, Final, Literal

from fastapi import Query
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.services import Services
from api.v4.merge_requests.merge_requests import request_page
from api.v4.pagination import Paging, PagingDep, bounded
from api.v4.repositories.access import CommitDep, RepositoryAccess, RepositoryDep
from api.v4.representation.commits import (
    CommitDetailsResponse,
    CommitResponse,
    CountedCommitResponse,
    DiffResponse,
)
from api.v4.representation.commits import commit as shown
from api.v4.representation.commits import diff as shown_diff
from api.v4.representation.commits import stats as shown_stats
from api.v4.representation.merge_requests import MergeRequestResponse
from api.v4.representation.pipelines import brief
from domain.errors import Invalid
from git.names import checked_path, is_sha
from git.reading.commit import Commit
from git.reading.descendants import with_descendants
from git.reading.diffs import changed_files, with_patches
from git.reading.history import HistoryQuery, changed_lines, commits, count_commits, parent_of
from git.reading.ref_listing import refs_with
from git.reading.revision import commit_named
from git.reading.tree_reading import merge_base
from models.repositories.merge_requests import merge_requests
from models.repositories.merge_requests.merge_requests import MergeRequestFilter
from models.repositories.projects.listings import PipelineFilter, latest_pipeline

router = RouteList(prefix="/projects/{project}/repository", kind=EndsWithCaller)

_SKIP: Final = re.compile(r"[0-9]{1,12}")
_UNKNOWN_PAGE: Final = "page_token is invalid; begin with the first page."
_MAX_PINNED: Final = 2
"""Commits that a page's token names: where to begin, and what to leave out."""
_MAX_COMPARED: Final = 10_000
"""Commits of one comparison."""
_FOLDERS: Final = {"branch": "refs/heads", "tag": "refs/tags"}


class HoldingRefResponse(TypedDict):
    """A branch or tag (`type`) that holds a commit."""

    type: str
    name: str


class CommitCountResponse(TypedDict):
    """How many commits lead to one."""

    count: int


class ComparisonResponse(TypedDict):
    """What one commit has that another has not; `commit` is the newest of them."""

    commit: CommitResponse | None
    commits: list[CommitResponse]
    diffs: list[DiffResponse]
    compare_timeout: bool
    compare_same_ref: bool
    web_url: str


@router.get("/commits", response_model=list[CountedCommitResponse])
async def list_commits(
    repository: RepositoryDep,
    paging: PagingDep,
    ref_name: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    path: str = "",
    author: str = "",
    all: bool = False,  # noqa: A002  (GitLab's name)
    with_stats: bool = False,
    first_parent: bool = False,
    order: Literal["default", "topo"] = "default",
    follow: bool = False,
) -> JSONResponse:
    """The commits of a ref or of a range of refs, the newest first; nothing for a ref that is not there."""
    revisions, skip = await _revisions(repository, paging, ref_name, everything=all)
    if revisions is None:
        return paging.uncounted([], more=False)
    query = HistoryQuery(
        revisions=revisions,
        path=checked_path(path.strip("/")) if path.strip("/") else "",
        since=_aware(since),
        until=_aware(until),
        author=author,
        first_parent=first_parent,
        topological=order == "topo",
        follow=follow,
        skip=skip,
        limit=paging.size + 1,
    )
    found = await commits(repository.git, query)
    page = found[: paging.size]
    lines = await changed_lines(repository.git, page) if with_stats else {}
    items: list[CountedCommitResponse] = [
        {**shown(commit, repository.path, repository.url), **shown_stats(lines.get(commit.sha))} for commit in page
    ]
    more = len(found) > paging.size
    if not paging.keyset:
        return paging.uncounted(items, more=more)
    return paging.keyed(items, "_".join([str(skip + paging.size), *revisions]) if more else "")


async def _revisions(
    repository: RepositoryAccess, paging: Paging, ref_name: str, *, everything: bool
) -> tuple[list[str] | None, int]:
    """Where to begin, and after how many commits; a token holds fast to the commits that its first page began with."""
    if paging.keyset and paging.token:
        skip, *pinned = paging.token.split("_")
        named = [one.removeprefix("^") for one in pinned]
        if not _SKIP.fullmatch(skip) or len(named) > _MAX_PINNED or not all(map(is_sha, named)):
            raise Invalid(_UNKNOWN_PAGE)
        if None in [await commit_named(repository.git, sha) for sha in named]:
            raise Invalid(_UNKNOWN_PAGE)
        return pinned, int(skip)
    if everything:
        return [], paging.offset
    names = ref_name.split("..") if ref_name.count("..") == 1 and "..." not in ref_name else [ref_name]
    shas = [await commit_named(repository.git, name or _default(repository)) for name in names]
    known = [sha for sha in shas if sha is not None]
    if len(known) < len(shas):
        return None, 0
    return [known[-1], *(f"^{sha}" for sha in known[:-1])], paging.offset


def _default(repository: RepositoryAccess) -> str:
    return f"refs/heads/{repository.row.default_branch}"


def _aware(value: datetime | None) -> datetime | None:
    return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


@router.get("/commits/{sha}")
async def get_commit(
    commit: CommitDep,
    repository: RepositoryDep,
    services: ServicesDep,
    stats: bool = True,
) -> CommitDetailsResponse:
    """One commit by its sha or by the name of a branch or tag, with its newest pipeline."""
    return await detailed(services, repository, commit, stats=stats)


async def detailed(
    services: Services, repository: RepositoryAccess, sha: str, *, stats: bool = True
) -> CommitDetailsResponse:
    """A commit in full."""
    found = await repository.git.commit(sha)
    async with services.database.read() as connection:
        pipeline = await latest_pipeline(connection, repository.row.id, PipelineFilter({"sha": sha}))
    lines = await changed_lines(repository.git, [found]) if stats else {}
    return {
        **shown(found, repository.path, repository.url),
        **shown_stats(lines.get(sha)),
        "status": None if pipeline is None else pipeline.status,
        "project_id": repository.row.id,
        "last_pipeline": None if pipeline is None else brief(pipeline, repository.path, repository.url),
    }


@router.get("/commits/{sha}/diff", response_model=list[DiffResponse])
async def get_commit_diff(
    commit: CommitDep, repository: RepositoryDep, paging: PagingDep, unidiff: bool = False
) -> JSONResponse:
    """What a commit changed against its first parent."""
    found: Commit = await repository.git.commit(commit)
    old = parent_of(found)
    files = await changed_files(repository.git, old, commit)
    page = await with_patches(repository.git, old, commit, files, first=paging.offset, count=paging.size)
    return paging.response([shown_diff(file, unidiff=unidiff) for file in page], len(files))


@router.get("/commits/{sha}/refs", response_model=list[HoldingRefResponse])
async def get_commit_refs(
    commit: CommitDep,
    repository: RepositoryDep,
    paging: PagingDep,
    kind: Annotated[Literal["branch", "tag", "all"], Query(alias="type")] = "all",
) -> JSONResponse:
    """The branches and tags that hold a commit."""
    found: list[HoldingRefResponse] = [
        {"type": word, "name": name}
        for word, folder in _FOLDERS.items()
        if kind in {word, "all"}
        for name in await refs_with(repository.git, commit, folder)
    ]
    return paging.response(paging.of(found), len(found))


@router.get("/commits/{sha}/sequence")
async def get_commit_sequence(
    commit: CommitDep, repository: RepositoryDep, first_parent: bool = False
) -> CommitCountResponse:
    """How many commits lead to this one, itself included."""
    return {"count": await count_commits(repository.git, commit, first_parent=first_parent)}


@router.get("/commits/{sha}/merge_requests", response_model=list[MergeRequestResponse])
async def list_of_commit(
    sha: CommitDep,
    repository: RepositoryDep,
    services: ServicesDep,
    paging: PagingDep,
    state: Literal["opened", "closed", "locked", "merged", "all"] = "all",
) -> JSONResponse:
    """The merge requests that brought a commit, or whose merge made it, newest first."""
    after = await with_descendants(repository.git, sha)
    async with services.database.read() as connection:
        ids = await merge_requests.with_commit(connection, repository.row.id, sha, after)
    wanted = MergeRequestFilter(projects=[repository.row.id], ids=tuple(ids), state="" if state == "all" else state)
    return await request_page(services, paging, merge_requests.listed(wanted))


@router.get("/compare")
async def compare(
    repository: RepositoryDep,
    base: Annotated[str, Query(alias="from")],
    head: Annotated[str, Query(alias="to")],
    straight: bool = False,
    unidiff: bool = False,
) -> ComparisonResponse:
    """What `to` has that `from` has not; `straight` compares the two, else from their last common commit on.

    `compare_timeout` says, as in GitLab, that more files differ than are in `diffs`.
    """
    old, new = await repository.commit(base, "Ref Not Found"), await repository.commit(head, "Ref Not Found")
    query = HistoryQuery([new, f"^{old}"], oldest_first=True, limit=_MAX_COMPARED)
    between = await commits(repository.git, query)
    begin = old if straight else await merge_base(repository.git, old, new) or old
    files = await changed_files(repository.git, begin, new)
    diffs = await with_patches(repository.git, begin, new, files)
    items = await asyncio.to_thread(lambda: [shown(commit, repository.path, repository.url) for commit in between])
    bounded(items, "Compare what is less apart")
    return {
        "commit": items[-1] if items else None,
        "commits": items,
        "diffs": [shown_diff(file, unidiff=unidiff) for file in diffs],
        "compare_timeout": len(files) > len(diffs),
        "compare_same_ref": old == new,
        "web_url": f"{repository.url}/{repository.path}/-/compare/{base}{'..' if straight else '...'}{head}",
    }
