"""What a search finds in one project: files, commits, and notes of merge requests."""

from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.services import Services
from api.v4.pagination import Paging
from api.v4.repositories.access import RepositoryAccess
from api.v4.representation.commits import CommitResponse
from api.v4.representation.commits import commit as shown_commit
from api.v4.representation.notes import AroundNotes, people_of
from api.v4.representation.notes import note as shown_note
from application.access import ProjectAccess
from auth.permissions import NoteAction, may_note
from domain.errors import NotFound
from git.reading.searching import FoundFile, commits_with, files_with, first_places
from models.repositories.merge_requests import merge_request_notes
from models.repositories.paging import slice_of
from models.repositories.projects import relations


class FoundFileResponse(TypedDict):
    """A file that holds a text, first in the line `startline`; `basename` is the path without its ending."""

    basename: str
    data: str
    path: str
    filename: str
    id: int | None
    ref: str
    startline: int
    project_id: int


class FoundCommitResponse(CommitResponse):
    """A commit whose message holds a text."""

    project_id: int


async def found_files(services: Services, project: ProjectAccess, paging: Paging, text: str, ref: str) -> JSONResponse:
    """Files of a commit that hold the text, each at the first place, in the order of their paths."""
    repository, sha = await _commit(services, project, ref)
    if repository is None:
        return paging.response([], 0)
    paths = await files_with(repository.git, sha, text)
    found = await first_places(repository.git, sha, text, paging.of(paths))
    named = ref or project.row.default_branch
    return paging.response([_shown(file, named, project.row.id) for file in found], len(paths))


def _shown(file: FoundFile, ref: str, project_id: int) -> FoundFileResponse:
    name, dot, ending = file.path.rpartition(".")
    return {
        "basename": name if dot and "/" not in ending and name else file.path,
        "data": file.data,
        "path": file.path,
        "filename": file.path,
        "id": None,
        "ref": ref,
        "startline": file.line,
        "project_id": project_id,
    }


async def found_commits(
    services: Services, project: ProjectAccess, paging: Paging, text: str, ref: str
) -> JSONResponse:
    """Commits that lead to one and whose message holds the text; nobody counts them."""
    repository, sha = await _commit(services, project, ref)
    if repository is None:
        return paging.response([], 0)
    found = await commits_with(repository.git, sha, text, skip=paging.offset, limit=paging.size + 1)
    items = [shown_commit(one, repository.path, repository.url) for one in found[: paging.size]]
    shown: list[FoundCommitResponse] = [{**item, "project_id": project.row.id} for item in items]
    return paging.uncounted(shown, more=len(found) > paging.size)


async def _commit(services: Services, project: ProjectAccess, ref: str) -> tuple[RepositoryAccess | None, str]:
    """The repository and the commit to search; None while nobody has pushed. Raises `NotFound` for a wrong `ref`."""
    try:
        git = services.repositories.get(project.row.id)
        repository = RepositoryAccess(project, git, services.settings.url)
        return repository, await repository.commit(ref)
    except NotFound:
        if ref:
            raise
        return None, ""


async def found_notes(services: Services, project: ProjectAccess, paging: Paging, text: str) -> JSONResponse:
    """What people wrote about the merge requests of the project; internal notes for those who may read them."""
    internal = may_note(project.caller, NoteAction.INTERNAL, project.level, project.member_level)
    statement = merge_request_notes.found(project.row.id, text, internal=internal)
    async with services.database.read() as connection:
        page = await slice_of(connection, statement, paging.number, paging.size)
        people = await relations.users(connection, people_of(page.rows))
        requests = await relations.merge_requests(connection, {row.merge_request_id for row in page.rows})
    url = services.settings.url
    items = [shown_note(row, AroundNotes(requests[row.merge_request_id], url, people)) for row in page.rows]
    return paging.response(items, page.total)
