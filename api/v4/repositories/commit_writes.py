"""Commits made by a call: of actions on files, as a cherry-pick, as a revert."""

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, Literal

from fastapi import Depends
from fastapi.responses import JSONResponse
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.parameters import Optionals, given
from api.v4.repositories.access import CommitDep, RepositoryAccess, RepositoryDep
from api.v4.repositories.commits import detailed
from api.v4.representation.commits import CommitDetailsResponse
from application.pushes.committing import WantedCommit, advance, commit_files, existing_head, signature_of
from auth.permissions import Action
from domain.errors import FieldsInvalid, Invalid, NotFound
from git.reading.commit import Commit
from git.reading.signature import Signature
from git.writing.file_actions import FileAction, Kind
from git.writing.picking import Picked, cherry_pick, revert

router = RouteList(prefix="/projects/{project}/repository/commits")

_TOO_MANY: Final = 10_000
_PICKED: Final = (
    "Sorry, we cannot cherry-pick this commit automatically. This commit may already have been cherry-picked, or a "
    "more recent commit may have updated some of its content."
)
_REVERTED: Final = (
    "Sorry, we cannot revert this commit automatically. This commit may already have been reverted, or a more recent "
    "commit may have updated some of its content."
)


class ActionGiven(Optionals):
    """One item of `actions`."""

    action: Literal["create", "update", "delete", "move", "chmod"]
    file_path: str = Field(min_length=1)
    previous_path: str = ""
    content: str | None = None
    encoding: Literal["text", "base64"] = "text"
    last_commit_id: str = ""
    execute_filemode: bool | None = None

    def read(self) -> FileAction:
        """What is to be done. Raises `Invalid` for what does not fit together."""
        kind = Kind(self.action)
        if kind is Kind.MOVE and not self.previous_path:
            raise Invalid("actions[previous_path] is missing: say where the file is now.")
        if kind is Kind.CHMOD and self.execute_filemode is None:
            raise Invalid("actions[execute_filemode] is missing")
        content = None if self.content is None else content_of(self.content, self.encoding)
        if content is None and kind in {Kind.CREATE, Kind.UPDATE}:
            content = b""
        return FileAction(
            kind=kind,
            path=self.file_path,
            content=None if kind in {Kind.DELETE, Kind.CHMOD} else content,
            previous_path=self.previous_path,
            executable=self.execute_filemode,
            last_commit_id=self.last_commit_id,
        )


def content_of(text: str, encoding: str) -> bytes:
    """The bytes of a file. Raises `Invalid` for what is no Base64."""
    if encoding == "text":
        return text.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise FieldsInvalid(content=f"is invalid: it is no Base64 ({error})") from error


class CommitGiven(Optionals):
    """Parameters of `POST /projects/:id/repository/commits`."""

    branch: str
    commit_message: str = Field(min_length=1)
    actions: list[ActionGiven] = Field(max_length=_TOO_MANY)
    start_branch: str = ""
    start_sha: str = ""
    author_name: str = ""
    author_email: str = ""
    stats: bool = True
    force: bool = False


@router.post("", status_code=201)
async def create_commit(
    new: Annotated[CommitGiven, Depends(given(CommitGiven, "commit_bytes"))],
    repository: RepositoryDep,
    services: ServicesDep,
) -> CommitDetailsResponse:
    """Make a commit of several actions: all of them, or none. Its branch gets its pipeline."""
    repository.project.require(Action.PUSH)
    if new.start_branch and new.start_sha:
        raise Invalid("start_branch, start_sha are mutually exclusive")
    wanted = WantedCommit(
        branch=new.branch,
        message=new.commit_message,
        actions=[action.read() for action in new.actions],
        author_name=new.author_name,
        author_email=new.author_email,
        start_branch=new.start_branch,
        start_sha=new.start_sha,
        force=new.force,
    )
    sha = await commit_files(services, repository.project, repository.git, wanted)
    return await detailed(services, repository, sha, stats=new.stats)


class Pick(Optionals):
    """Parameters of `POST .../commits/:sha/cherry_pick` and `/revert`; a revert writes its own message."""

    branch: str
    dry_run: bool = False
    message: str = ""


class TrialResponse(TypedDict):
    """That the commit could be made."""

    dry_run: str


TRIED: Final[dict[int | str, dict[str, Any]]] = {200: {"model": TrialResponse}}
"""What `dry_run` answers."""
PickDep = Annotated[Pick, Depends(given(Pick))]
Picking = Callable[[str, Signature], Awaitable[Picked]]


@router.post("/{sha}/cherry_pick", status_code=201, response_model=CommitDetailsResponse, responses=TRIED)
async def cherry_pick_commit(
    commit: CommitDep, asked: PickDep, repository: RepositoryDep, services: ServicesDep
) -> JSONResponse:
    """Carry the change of a commit over to a branch."""
    found = await repository.git.commit(commit)
    message = asked.message or f"{found.message}\n\n(cherry picked from commit {found.sha})"

    async def picking(head: str, me: Signature) -> Picked:
        return await cherry_pick(repository.git, head, found, message, me)

    return await _pick(services, repository, asked, picking, _PICKED)


@router.post("/{sha}/revert", status_code=201, response_model=CommitDetailsResponse, responses=TRIED)
async def revert_commit(
    commit: CommitDep, asked: PickDep, repository: RepositoryDep, services: ServicesDep
) -> JSONResponse:
    """Take the change of a commit back in a branch."""
    found: Commit = await repository.git.commit(commit)
    message = f'Revert "{found.title}"\n\nThis reverts commit {found.sha}'

    async def picking(head: str, me: Signature) -> Picked:
        return await revert(repository.git, head, found, message, me)

    return await _pick(services, repository, asked, picking, _REVERTED)


class _CannotPickError(Exception):
    """Why there is no commit: GitLab's `error_code`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


async def _pick(
    services: Services, repository: RepositoryAccess, asked: Pick, picking: Picking, refusal: str
) -> JSONResponse:
    repository.project.require(Action.PUSH)
    head = await existing_head(repository.git, asked.branch)
    me = await signature_of(services, repository.project)

    async def build(now: str | None) -> str:
        if now is None:
            raise NotFound("Branch Not Found")
        picked = await picking(now, me)
        if picked.sha is None:
            raise _CannotPickError("conflict" if picked.conflicts else "empty")
        return picked.sha

    try:
        if asked.dry_run:
            await build(head)
            trial: TrialResponse = {"dry_run": "success"}
            return JSONResponse(trial, 200)
        sha = await advance(services, repository.project, repository.git, asked.branch, build)
    except _CannotPickError as error:
        response = {"message": refusal, "error_code": error.code}
        return JSONResponse({**response, "dry_run": "error"} if asked.dry_run else response, 400)
    return JSONResponse(await detailed(services, repository, sha), 201)
