"""The branch or tag that a name means."""

from pathlib import Path
from typing import Final

from domain.errors import AmbiguousRef, Invalid, NotFound
from domain.projects.ref_names import HEADS, TAGS
from git.reading.ref_presence import has_ref
from git.repository import Repositories, Repository
from models.repositories.projects.listings import PipelineFilter

_KINDS: Final = ((HEADS, False), (TAGS, True))
_SCOPES: Final = {None: "", False: "branches", True: "tags"}


async def find_ref(repository: Repository, name: str) -> tuple[str, bool, str]:
    """Short name, whether it is a tag, and commit of a branch or tag. Raises `Invalid`, `AmbiguousRef`."""
    found = await _find_place(repository.path, name)
    if found is not None:
        place, tag = found
        for ref in await repository.refs(place):
            if ref.name == place:
                return ref.short_name, tag, ref.sha
    raise Invalid("Reference not found")


async def _find_place(repository: Path, name: str) -> tuple[str, bool] | None:
    """The full name of the branch or tag that a name means, and whether it is a tag; None if there is none.

    Read without starting git. Raises `Invalid`, `AmbiguousRef`.
    """
    if name.startswith("refs/"):
        places = [(name, tag) for prefix, tag in _KINDS if name.startswith(prefix)]
    else:
        places = [(prefix + name, tag) for prefix, tag in _KINDS]
    there = [(place, tag) for place, tag in places if await has_ref(repository, place)]
    if len(there) > 1:
        raise AmbiguousRef(name)
    return there[0] if there else None


async def ref_of_pipelines(repositories: Repositories, project_id: int, name: str) -> tuple[str, bool | None]:
    """The ref whose pipelines a name means, as their rows have it, and whether it is a tag.

    None where the repository has neither, or not any more: pipelines of either may be meant. Raises `AmbiguousRef`.
    """
    for prefix, tag in _KINDS:
        if name.startswith(prefix):
            return name.removeprefix(prefix), tag
    try:
        found = await _find_place(repositories.get(project_id).path, name)
    except AmbiguousRef:
        raise
    except (NotFound, Invalid):
        return name, None
    return name, None if found is None else found[1]


async def pipelines_of_ref(repositories: Repositories, project_id: int, name: str, **equal: str) -> PipelineFilter:
    """Which pipelines a name of a ref means, narrowed by columns. Raises `AmbiguousRef`."""
    ref, tag = await ref_of_pipelines(repositories, project_id, name)
    return PipelineFilter({"ref": ref, **equal}, _SCOPES[tag])
