"""What a repository holds: its folders, blobs, archives and contributors."""

import base64
import json
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.routes import RouteList
from api.v4.pagination import PagingDep
from api.v4.repositories.access import RepositoryAccess, RepositoryDep
from api.v4.representation.commits import CommitResponse
from api.v4.representation.commits import commit as shown_commit
from api.v4.streaming import begun, disposition, download
from domain.errors import Invalid, NotFound
from git.names import checked_path
from git.reading.archives import FORMATS, ArchiveRequest, stream_archive
from git.reading.blobs import blob_size, read_blob, stream_blob
from git.reading.history import commits_by_sha, contributors
from git.reading.revision import commit_named
from git.reading.tree_listing import TreeEntry, list_tree
from git.reading.tree_reading import merge_base

router = RouteList(prefix="/projects/{project}/repository", kind=EndsWithCaller)

_MAX_REFS: Final = 20
"""Of which the common commit is asked for."""
_SAFE_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


class TreeEntryResponse(TypedDict):
    """An entry of a folder; `mode` is octal."""

    id: str
    name: str
    type: str
    path: str
    mode: str


class BlobResponse(TypedDict):
    """A blob with its content in Base64; `size` in bytes."""

    size: int
    encoding: str
    content: str
    sha: str


class ContributorResponse(TypedDict):
    """Who wrote commits, and how many; lines are not counted."""

    name: str
    email: str
    commits: int
    additions: int
    deletions: int


@router.get("/tree", response_model=list[TreeEntryResponse])
async def get_tree(
    repository: RepositoryDep,
    paging: PagingDep,
    path: str = "",
    ref: str = "",
    recursive: bool = False,
) -> JSONResponse:
    """Entries of a folder, folders first."""
    sha = await repository.commit(ref, "Tree Not Found")
    entries = await list_tree(repository.git, sha, _place(path), recursive=recursive)
    if entries is None:
        raise NotFound("404 invalid revision or path Not Found")
    if not paging.keyset:
        return paging.response([_shown(entry) for entry in paging.of(entries)], len(entries))
    first = _after(entries, paging.token) if paging.token else 0
    page = entries[first : first + paging.size]
    more = first + paging.size < len(entries)
    return paging.keyed([_shown(entry) for entry in page], _token(page[-1]) if more else "")


def _place(path: str) -> str:
    place = path.strip("/")
    return checked_path(place) if place else ""


def _shown(entry: TreeEntry) -> TreeEntryResponse:
    return {"id": entry.sha, "name": entry.name, "type": entry.kind, "path": entry.path, "mode": entry.mode}


def _token(entry: TreeEntry) -> str:
    return base64.urlsafe_b64encode(json.dumps({"file_name": entry.path}).encode()).decode()


def _after(entries: Sequence[TreeEntry], token: str) -> int:
    """Where the page after an entry begins; the entry is named by its path in a token of ours, or by its id."""
    try:
        path = json.loads(base64.urlsafe_b64decode(token))["file_name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        path = None
    found = (at for at, entry in enumerate(entries) if token == entry.sha or entry.path == path)
    at = next(found, None)
    if at is None:
        raise Invalid("page_token is invalid: it names no entry of this folder; begin with the first page.")
    return at + 1


@router.get("/blobs/{sha}")
async def get_blob(sha: str, repository: RepositoryDep, services: ServicesDep) -> BlobResponse:
    """A blob by its id, as JSON."""
    size = await _size(repository, sha)
    content = await read_blob(repository.git, sha, services.settings.sizes.commit_bytes)
    return {"size": size, "encoding": "base64", "content": base64.b64encode(content).decode(), "sha": sha}


@router.get("/blobs/{sha}/raw")
async def get_raw_blob(sha: str, repository: RepositoryDep) -> StreamingResponse:
    """The bytes of a blob."""
    size = await _size(repository, sha)
    return await download(stream_blob(repository.git, sha), sha, size, "application/octet-stream")


async def _size(repository: RepositoryAccess, sha: str) -> int:
    size = await blob_size(repository.git, sha)
    if size is None:
        raise NotFound("Blob Not Found")
    return size


@router.get("/archive")
@router.get("/archive.{ending:path}")
async def get_archive(
    repository: RepositoryDep,
    request: Request,
    sha: str = "",
    path: str = "",
    exclude_paths: str = "",
) -> StreamingResponse:
    """The files of a commit, packed; `exclude_paths` are left out, with commas between."""
    ending = request.path_params.get("ending", "tar.gz")
    if ending not in FORMATS:
        raise NotFound("Not Found")
    commit = await repository.commit(sha, "File Not Found")
    place = _place(path)
    if place and await list_tree(repository.git, commit, place) is None:
        raise NotFound("File Not Found")
    name = _archive_name(repository, sha or repository.row.default_branch, commit, place)
    left_out = tuple(_place(one) for one in exclude_paths.split(",") if one.strip("/ "))
    return await packed(repository, ArchiveRequest(commit, FORMATS[ending][0], name, place, left_out))


async def packed(repository: RepositoryAccess, wanted: ArchiveRequest) -> StreamingResponse:
    """An archive as it is made, to be saved."""
    stream = stream_archive(repository.git, wanted)
    headers = {"Content-Disposition": disposition(f"{wanted.prefix}.{wanted.packing}"), **_SAFE_HEADERS}
    return StreamingResponse(await begun(stream), media_type=FORMATS[wanted.packing][1], headers=headers)


def _archive_name(repository: RepositoryAccess, ref: str, sha: str, path: str) -> str:
    """The name of the archive, and of the folder in it: project, ref, commit, path, as GitLab has it."""
    parts = [repository.row.path, ref, *([sha] if ref != sha else []), *([path] if path else [])]
    return "-".join(part.replace("/", "-") for part in parts)


@router.get("/merge_base")
async def get_merge_base(repository: RepositoryDep, request: Request) -> CommitResponse:
    """The last commit that all refs have in common."""
    query = request.query_params
    refs = list(dict.fromkeys([*query.getlist("refs[]"), *query.getlist("refs")]))
    if not 2 <= len(refs) <= _MAX_REFS:
        raise Invalid(f"Provide at least 2 refs, and at most {_MAX_REFS}")
    shas = [await commit_named(repository.git, ref) for ref in refs]
    if unknown := [ref for ref, sha in zip(refs, shas, strict=True) if sha is None]:
        raise Invalid(f"Could not find ref{'s' * (len(unknown) > 1)}: {', '.join(unknown)}")
    base = await merge_base(repository.git, *(sha for sha in shas if sha is not None))
    if base is None:
        raise NotFound("Merge Base Not Found")
    found = await commits_by_sha(repository.git, [base])
    return shown_commit(found[base], repository.path, repository.url)


@router.get("/contributors", response_model=list[ContributorResponse])
async def list_contributors(
    repository: RepositoryDep,
    paging: PagingDep,
    ref: str = "",
    order_by: Annotated[Literal["name", "email", "commits"], Query()] = "commits",
    sort: Annotated[Literal["asc", "desc"], Query()] = "asc",
) -> JSONResponse:
    """Who wrote the commits of a ref, and how many; lines are not counted, as in GitLab."""
    sha = await repository.commit(ref, "Ref Not Found")
    people = await contributors(repository.git, sha)
    ordered = sorted(people, key=lambda one: (getattr(one, order_by), one.email), reverse=sort == "desc")
    items: list[ContributorResponse] = [
        {"name": one.name, "email": one.email, "commits": one.commits, "additions": 0, "deletions": 0}
        for one in paging.of(ordered)
    ]
    return paging.response(items, len(people))
