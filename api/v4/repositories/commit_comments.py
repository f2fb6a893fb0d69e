"""Comments on commits: listed and written."""

from typing import Annotated, Literal

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.repositories.access import CommitDep, RepositoryDep
from api.v4.representation.people import Person, PersonResponse, person
from application.hooks.note_news import tell_of_comment
from domain.errors import Forbidden, Invalid
from domain.moments import moment
from models.repositories.accounts import accounts
from models.repositories.paging import slice_of
from models.repositories.pipelines import commit_comments
from models.repositories.projects import relations
from models.rows.commit_comments import CommitCommentRow

router = RouteList(prefix="/projects/{project}/repository/commits/{sha}/comments")


class NewComment(Optionals):
    """Parameters of `POST`; a comment on a line names its file too."""

    note: str = Field(min_length=1, max_length=1_000_000)
    path: str | None = Field(default=None, min_length=1, max_length=4096)
    line: int | None = Field(default=None, ge=1, le=2**31 - 1)
    line_type: Literal["new", "old"] = "new"


class CommitCommentResponse(TypedDict):
    """A comment on a commit, or on a line of one of its files."""

    note: str
    path: str | None
    line: int | None
    line_type: str | None
    author: PersonResponse
    created_at: str


def shown(row: CommitCommentRow, author: Person, url: str) -> CommitCommentResponse:
    """A comment as GitLab's JSON."""
    return {
        "note": row.note,
        "path": row.path or None,
        "line": row.line,
        "line_type": row.line_type or None,
        "author": person(author, url),
        "created_at": moment(row.created_at),
    }


@router.get("", response_model=list[CommitCommentResponse])
async def list_comments(
    sha: CommitDep, repository: RepositoryDep, services: ServicesDep, paging: PagingDep
) -> JSONResponse:
    """The comments on a commit, the oldest first."""
    statement = commit_comments.of_commit(repository.row.id, sha)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
        people = await relations.users(connection, (row.author_id for row in found.rows))
    return paging.response(
        [shown(row, people[row.author_id], services.settings.url) for row in found.rows], found.total
    )


@router.post("", status_code=201)
async def add_comment(
    new: Annotated[NewComment, Depends(given(NewComment))],
    sha: CommitDep,
    repository: RepositoryDep,
    services: ServicesDep,
    caller: KnownCallerDep,
) -> CommitCommentResponse:
    """Comment on a commit: whoever may read the code may."""
    if new.path is not None and new.line is None:
        raise Invalid("line is missing")
    if repository.row.archived:
        raise Forbidden("Forbidden: the project is archived; nothing of it changes until it is unarchived.")
    place = {"path": new.path, "line": new.line, "line_type": new.line_type} if new.path is not None else {}
    async with services.database.write() as connection:
        row = await commit_comments.add(
            connection,
            services.clock(),
            project_id=repository.row.id,
            sha=sha,
            author_id=caller.user_id,
            note=new.note,
            **{"path": "", "line": None, "line_type": "", **place},
        )
        await tell_of_comment(services, connection, row, row.created_at)
        author = await accounts.get(connection, caller.user_id)
    return shown(row, author, services.settings.url)
