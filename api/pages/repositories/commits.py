"""Pages of commits: those of a ref, and one with what it changed and what was found about it."""

from typing import Annotated, Final
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.pages.projects.home import Number
from api.pages.repositories.shown_diff import shown_diff
from api.routes import RouteList
from api.services import Services
from api.v4.repositories.access import RepositoryAccess
from application.access import ProjectAccess
from domain.errors import NotFound
from git.reading.history import HistoryQuery, commits, parent_of
from git.reading.ref_in_path import RefInPath, ref_in_path
from git.reading.ref_listing import refs_with
from git.repository import Repository
from models.repositories.paging import slice_of
from models.repositories.pipelines import commit_statuses
from models.repositories.pipelines.commit_pipelines import newest_of_commits
from models.repositories.pipelines.commit_statuses import JOB, StatusFilter
from models.repositories.projects.listings import PipelineFilter
from models.repositories.projects.listings import pipelines as listed
from models.rows.commit_statuses import CommitStatusRow

router = RouteList(prefix=PREFIX, kind=EndsWithCaller)

PER_PAGE: Final = 40
_MAX_RESULTS: Final = 50
"""Pipelines, and results of others, of one commit."""
_MAX_MESSAGE: Final = 20_001
"""Characters of a message: one more than are shown."""
_MAX_REFS: Final = 20


def repository_of(services: Services, project: ProjectAccess) -> RepositoryAccess:
    """The repository of a page's project. Raises `NotFound`."""
    return RepositoryAccess(project, services.repositories.get(project.row.id), services.settings.url)


async def named(repository: Repository, text: str) -> RefInPath:
    """The ref and the path of an address. Raises `NotFound`."""
    found = await ref_in_path(repository, text)
    if found is None:
        raise NotFound(f"There is no branch, tag or commit {text[:200]!r} in this repository.")
    return found


@router.get("/-/commits/{ref:path}")
async def list_of_commits(
    ref: str, services: ServicesDep, project: PageProjectDep, number: Annotated[Number, Query(alias="page")] = 1
) -> Response:
    """The commits of a ref, the newest first; of a path within it those that changed it."""
    repository = repository_of(services, project)
    found = await named(repository.git, ref)
    query = HistoryQuery([found.sha], path=found.path, skip=(number - 1) * PER_PAGE, limit=PER_PAGE + 1)
    seen = await commits(repository.git, query)
    async with services.database.read() as connection:
        statuses = await newest_of_commits(connection, project.row.id, [one.sha for one in seen[:PER_PAGE]])
    return page(
        "repositories/commits.html",
        project.caller,
        project=project.row,
        ref=found.name,
        path=found.path,
        commits=seen[:PER_PAGE],
        statuses=statuses,
        number=number,
        more=len(seen) > PER_PAGE,
        here=f"/{project.row.full_path}/-/commits/{quote(ref)}",
    )


@router.get("/-/commit/{sha:path}")
async def one_commit(
    request: Request,
    sha: str,
    services: ServicesDep,
    project: PageProjectDep,
    file: str = "",
    number: Annotated[Number, Query(alias="page")] = 1,
) -> Response:
    """A commit: what it says, what it changed, its pipelines and results."""
    repository = repository_of(services, project)
    commit = await repository.git.commit(await repository.commit(sha))
    address = f"/{project.row.full_path}/-/commit/{commit.sha}"
    diff = await shown_diff(repository.git, parent_of(commit), commit.sha, address, number=number, path=file)
    async with services.database.read() as connection:
        wanted = PipelineFilter({"sha": commit.sha})
        pipelines = await slice_of(connection, listed(project.row.id, wanted), 1, _MAX_RESULTS)
    return page(
        "repositories/commit.html",
        project.caller,
        project=project.row,
        commit=commit,
        body=commit.message.removeprefix(commit.title)[:_MAX_MESSAGE].strip("\r\n").replace("\r\n", "\n"),
        branches=(await refs_with(repository.git, commit.sha, "refs/heads"))[:_MAX_REFS],
        tags=(await refs_with(repository.git, commit.sha, "refs/tags"))[:_MAX_REFS],
        pipelines=pipelines.rows,
        results=await _results(services, project, commit.sha),
        diff=diff,
        address=address,
        here=request.url.path,
    )


async def _results(services: Services, project: ProjectAccess, sha: str) -> list[CommitStatusRow]:
    """What others reported for a commit; jobs of ours stand in their pipelines."""
    statement = commit_statuses.of_commit(project.row.id, sha, StatusFilter())
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, 1, _MAX_RESULTS * 4)
        keys = [row.id for row in found.rows if row.kind != JOB][:_MAX_RESULTS]
        rows = await commit_statuses.by_ids(connection, keys)
    return [rows[key] for key in keys if key in rows]
