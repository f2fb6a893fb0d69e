"""Pages of a repository's folders and files at a ref, to be read."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.pages.repositories.commits import named, repository_of
from api.routes import RouteList
from api.v4.repositories.access import RepositoryAccess
from domain.diffs.visible_text import deceives
from domain.errors import NotFound
from git.names import checked_path
from git.reading.blobs import read_blob
from git.reading.history import HistoryQuery, commits
from git.reading.ref_in_path import RefInPath
from git.reading.tree_listing import TreeEntry, entry_at, list_tree

router = RouteList(prefix=PREFIX, kind=EndsWithCaller)

MAX_ENTRIES: Final = 1_000
"""Of one folder."""
MAX_BYTES: Final = 512 * 1024
"""Of a file that is shown; a larger one is read raw."""
MAX_LINES: Final = 5_000


@router.get("/-/tree/{place:path}")
async def folder(place: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """What a folder holds at a ref; the top one without a path."""
    repository = repository_of(services, project)
    found = await named(repository.git, place)
    entries = await list_tree(repository.git, found.sha, checked_path(found.path) if found.path else "")
    if entries is None:
        if found.path and await entry_at(repository.git, found.sha, found.path) is not None:
            return RedirectResponse(f"/{project.row.full_path}/-/blob/{quote(place)}", 303)
        raise NotFound(f"There is no folder {found.path[:200]!r} at {found.name[:200]!r}.")
    return page(
        "repositories/tree.html",
        project.caller,
        project=project.row,
        entries=entries[:MAX_ENTRIES],
        left_out=max(0, len(entries) - MAX_ENTRIES),
        **await _around(repository, found),
    )


async def _around(repository: RepositoryAccess, found: RefInPath) -> dict[str, Any]:
    """What both pages show: where we are, and the newest commit that touched it."""
    parts = found.path.split("/") if found.path else []
    newest = await commits(repository.git, HistoryQuery([found.sha], path=found.path, limit=1))
    return {
        "ref": found.name,
        "path": found.path,
        "trail": [(part, "/".join(parts[: at + 1])) for at, part in enumerate(parts)],
        "newest": newest[0] if newest else None,
        "here": f"/{repository.path}/-/tree/{quote(found.name)}/{quote(found.path)}",
    }


@router.get("/-/blob/{place:path}")
async def file(place: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """A file at a ref, line by line if it is text."""
    repository = repository_of(services, project)
    found = await named(repository.git, place)
    entry = await entry_at(repository.git, found.sha, checked_path(found.path)) if found.path else None
    if entry is None:
        raise NotFound(f"There is no file {found.path[:200]!r} at {found.name[:200]!r}.")
    if entry.kind == "tree":
        return RedirectResponse(f"/{project.row.full_path}/-/tree/{quote(place)}", 303)
    lines, why_not = await _lines(repository, entry)
    raw = f"/api/v4/projects/{project.row.id}/repository/files/{quote(found.path, safe='')}/raw?ref={found.sha}"
    return page(
        "repositories/blob.html",
        project.caller,
        project=project.row,
        entry=entry,
        lines=lines[:MAX_LINES],
        left_out=max(0, len(lines) - MAX_LINES),
        why_not=why_not,
        deceives=any(map(deceives, lines[:MAX_LINES])),
        raw="" if entry.kind == "commit" else raw,
        **await _around(repository, found),
    )


async def _lines(repository: RepositoryAccess, entry: TreeEntry) -> tuple[Sequence[str], str]:
    """The lines of a file, or why there are none."""
    if entry.kind == "commit":
        return [], f"A submodule: commit {entry.sha} of another repository."
    if (entry.size or 0) > MAX_BYTES:
        return [], "The file is too large to be shown; read it raw."
    content = await read_blob(repository.git, entry.sha, MAX_BYTES)
    if b"\0" in content[:8_000]:
        return [], "A binary file."
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else [], "" if text else "The file is empty."
