"""Files and whole trees of a repository to be saved, under the addresses that releases and people link to."""

from typing import Final

from fastapi.responses import StreamingResponse

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.repositories.commits import named, repository_of
from api.routes import RouteList
from api.v4.repositories.tree import packed
from api.v4.streaming import download
from domain.errors import NotFound
from git.names import checked_path
from git.reading.archives import FORMATS, ArchiveRequest
from git.reading.blobs import stream_blob
from git.reading.tree_listing import entry_at

router = RouteList(prefix=PREFIX, kind=EndsWithCaller)

_ENDINGS: Final = sorted(FORMATS, key=len, reverse=True)


@router.get("/-/raw/{place:path}")
async def raw_file(place: str, services: ServicesDep, project: PageProjectDep) -> StreamingResponse:
    """The bytes of a file at a ref."""
    repository = repository_of(services, project)
    found = await named(repository.git, place)
    entry = await entry_at(repository.git, found.sha, checked_path(found.path)) if found.path else None
    if entry is None or entry.kind != "blob":
        raise NotFound(f"There is no file {found.path[:200]!r} at {found.name[:200]!r}.")
    stream = stream_blob(repository.git, entry.sha)
    return await download(stream, entry.name, entry.size or 0, "text/plain; charset=utf-8")


@router.get("/-/archive/{place:path}")
async def archive(place: str, services: ServicesDep, project: PageProjectDep) -> StreamingResponse:
    """All files of a ref, packed: `v1/app-v1.tar.gz` or `v1.zip`; the ending says how."""
    ending = next((one for one in _ENDINGS if place.endswith(f".{one}")), "")
    if not ending:
        raise NotFound(f"An archive ends in one of {', '.join(FORMATS)}.")
    repository = repository_of(services, project)
    found = await named(repository.git, place.removesuffix(f".{ending}"))
    if "/" in found.path:
        raise NotFound(f"There is no branch, tag or commit {place[:200]!r} in this repository.")
    name = f"{project.row.path}-{found.name.replace('/', '-')}"
    return await packed(repository, ArchiveRequest(found.sha, FORMATS[ending][0], name))
