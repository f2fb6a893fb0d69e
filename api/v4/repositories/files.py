"""Files of a repository: read, raw, blamed, made, changed, deleted."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Depends, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.services import Services
from api.v4.encoded_paths import decoded
from api.v4.pagination import bounded
from api.v4.parameters import Optionals, given
from api.v4.repositories.access import RepositoryAccess, RepositoryDep
from api.v4.repositories.commit_writes import content_of
from api.v4.representation.commits import CommitResponse
from api.v4.representation.commits import commit as shown_commit
from api.v4.streaming import download
from application.pushes.committing import WantedCommit, commit_files
from auth.permissions import Action
from domain.errors import Invalid, NotFound
from git.names import checked_path
from git.reading.blame import blame
from git.reading.blobs import read_blob, stream_blob
from git.reading.history import commits_by_sha
from git.reading.tree_listing import TreeEntry, entry_at
from git.writing.file_actions import CHANGED, EXECUTABLE_MODE, FileAction, Kind, last_commit_of

router = RouteList(prefix="/projects/{project}/repository/files/{file_path}", kind=EndsWithCaller)

_CHANGED: Final = "You are attempting to update a file that has changed since you started editing it."


class FileFactsResponse(TypedDict):
    """What is known of a file besides its content; `size` in bytes."""

    file_name: str
    file_path: str
    size: int
    encoding: str
    content_sha256: str
    ref: str
    blob_id: str
    commit_id: str
    last_commit_id: str
    execute_filemode: bool


class FileContentResponse(FileFactsResponse):
    """A file with its content in Base64."""

    content: str


class BlamedLinesResponse(TypedDict):
    """Lines of a file that the same commit changed last."""

    commit: CommitResponse
    lines: list[str]


class WrittenFileResponse(TypedDict):
    """Where a file was written."""

    file_path: str
    branch: str


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a commit; `ref` is how the call named the commit."""

    entry: TreeEntry
    ref: str
    commit: str
    last_commit: str

    @property
    def size(self) -> int:
        """Bytes."""
        return self.entry.size or 0

    def facts(self, sha256: str) -> FileFactsResponse:
        """What GitLab tells of a file besides its content."""
        return {
            "file_name": self.entry.name,
            "file_path": self.entry.path,
            "size": self.size,
            "encoding": "base64",
            "content_sha256": sha256,
            "ref": self.ref,
            "blob_id": self.entry.sha,
            "commit_id": self.commit,
            "last_commit_id": self.last_commit,
            "execute_filemode": self.entry.mode == EXECUTABLE_MODE,
        }


async def _found(repository: RepositoryAccess, file_path: str, ref: str) -> FoundFile:
    path = decoded(file_path)
    try:
        checked_path(path)
    except Invalid:
        raise Invalid("file_path should be a valid file path") from None
    sha = await repository.commit("" if ref == "HEAD" else ref)
    entry = await entry_at(repository.git, sha, path)
    if entry is None or entry.kind != "blob":
        raise NotFound("File Not Found")
    return FoundFile(entry, ref or repository.row.default_branch, sha, await last_commit_of(repository.git, sha, path))


def _headers(facts: Mapping[str, object]) -> dict[str, str]:
    """The facts as `X-Gitlab-...`; what is not ASCII goes as UTF-8."""
    headers = {}
    for name, value in facts.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        headers[f"X-Gitlab-{name.replace('_', '-').title()}"] = _header_text(text)
    return headers


def _header_text(text: str) -> str:
    return text.encode("utf-8").decode("latin-1")


async def _sha256(repository: RepositoryAccess, file: FoundFile) -> str:
    digest = hashlib.sha256()
    async for chunk in stream_blob(repository.git, file.entry.sha):
        digest.update(chunk)
    return digest.hexdigest()


@router.get("")
async def get_file(
    file_path: str,
    repository: RepositoryDep,
    services: ServicesDep,
    ref: Annotated[str, Query(min_length=1)],
) -> FileContentResponse:
    """A file with its content."""
    file = await _found(repository, file_path, ref)
    content = await read_blob(repository.git, file.entry.sha, services.settings.sizes.commit_bytes)
    digest = hashlib.sha256(content).hexdigest()
    return {**file.facts(digest), "content": base64.b64encode(content).decode()}


@router.head("")
async def head_file(file_path: str, repository: RepositoryDep, ref: Annotated[str, Query(min_length=1)]) -> Response:
    """What is known of a file, in headers."""
    file = await _found(repository, file_path, ref)
    return Response(headers=_headers(file.facts(await _sha256(repository, file))))


@router.get("/raw")
async def get_raw_file(file_path: str, repository: RepositoryDep, ref: str = "") -> StreamingResponse:
    """The bytes of a file."""
    file = await _found(repository, file_path, ref)
    headers = _headers(file.facts(await _sha256(repository, file)))
    stream = stream_blob(repository.git, file.entry.sha)
    response = await download(stream, file.entry.name, file.size, "text/plain; charset=utf-8")
    response.headers.update(headers)
    return response


@router.get("/blame", response_model=list[BlamedLinesResponse])
async def get_blame(
    file_path: str, repository: RepositoryDep, ref: Annotated[str, Query(min_length=1)]
) -> JSONResponse:
    """The lines of a file, with the commit that last changed each."""
    file = await _found(repository, file_path, ref)
    parts = await blame(repository.git, file.commit, file.entry.path)
    commits = await commits_by_sha(repository.git, (part.sha for part in parts))
    shown = {sha: shown_commit(commit, repository.path, repository.url) for sha, commit in commits.items()}
    blamed: list[BlamedLinesResponse] = [{"commit": shown[part.sha], "lines": list(part.lines)} for part in parts]
    bounded((part["commit"] for part in blamed), "Ask for a file whose commits say less")
    return JSONResponse(blamed)


class Change(Optionals):
    """Parameters that all writes of a file have."""

    branch: str
    commit_message: str = Field(min_length=1)
    start_branch: str = ""
    author_name: str = ""
    author_email: str = ""


class Written(Change):
    """Parameters of `POST` and `PUT`."""

    content: str
    encoding: Literal["text", "base64"] = "text"
    execute_filemode: bool | None = None
    last_commit_id: str = ""


class Removed(Change):
    """Parameters of `DELETE`."""

    last_commit_id: str = ""


WrittenDep = Annotated[Written, Depends(given(Written, "commit_bytes"))]


@router.post("", status_code=201)
async def create_file(
    file_path: str, new: WrittenDep, repository: RepositoryDep, services: ServicesDep
) -> WrittenFileResponse:
    """Make a file."""
    return await _write(services, repository, Kind.CREATE, file_path, new)


@router.put("")
async def update_file(
    file_path: str, new: WrittenDep, repository: RepositoryDep, services: ServicesDep
) -> WrittenFileResponse:
    """Give a file another content."""
    return await _write(services, repository, Kind.UPDATE, file_path, new)


@router.delete("", status_code=204)
async def delete_file(
    file_path: str,
    asked: Annotated[Removed, Depends(given(Removed))],
    repository: RepositoryDep,
    services: ServicesDep,
) -> Response:
    """Delete a file."""
    action = FileAction(Kind.DELETE, decoded(file_path), last_commit_id=asked.last_commit_id)
    await _commit(services, repository, asked, action)
    return Response(status_code=204)


async def _write(
    services: Services, repository: RepositoryAccess, kind: Kind, file_path: str, new: Written
) -> WrittenFileResponse:
    action = FileAction(
        kind,
        decoded(file_path),
        content=content_of(new.content, new.encoding),
        executable=new.execute_filemode,
        last_commit_id=new.last_commit_id,
    )
    await _commit(services, repository, new, action)
    return {"file_path": action.path, "branch": new.branch}


async def _commit(services: Services, repository: RepositoryAccess, asked: Change, action: FileAction) -> None:
    repository.project.require(Action.PUSH)
    wanted = WantedCommit(
        branch=asked.branch,
        message=asked.commit_message,
        actions=[action],
        author_name=asked.author_name,
        author_email=asked.author_email,
        start_branch=asked.start_branch,
    )
    try:
        await commit_files(services, repository.project, repository.git, wanted)
    except Invalid as error:
        if str(error).startswith(CHANGED):
            raise Invalid(_CHANGED) from error
        raise
