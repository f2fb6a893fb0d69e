"""The branch or tag that a name means."""

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
    found = []
    for prefix, tag in _KINDS:
        if name.startswith("refs/") and not name.startswith(prefix):
            continue
        short = name.removeprefix(prefix)
        found += [(short, tag, ref.sha) for ref in await repository.refs(prefix + short) if ref.name == prefix + short]
    if len(found) > 1:
        raise AmbiguousRef(name)
    if not found:
        raise Invalid("Reference not found")
    return found[0]


async def ref_of_pipelines(repositories: Repositories, project_id: int, name: str) -> tuple[str, bool | None]:
    """The ref whose pipelines a name means, as their rows have it, and whether it is a tag.

    None where the repository has neither, or not any more: pipelines of either may be meant. Raises `AmbiguousRef`.
    """
    for prefix, tag in _KINDS:
        if name.startswith(prefix):
            return name.removeprefix(prefix), tag
    try:
        folder = repositories.get(project_id).path
        there = [tag for prefix, tag in _KINDS if await has_ref(folder, prefix + name)]
    except (NotFound, Invalid):
        return name, None
    if len(there) > 1:
        raise AmbiguousRef(name)
    return name, there[0] if there else None


async def pipelines_of_ref(repositories: Repositories, project_id: int, name: str, **equal: str) -> PipelineFilter:
    """Which pipelines a name of a ref means, narrowed by columns. Raises `AmbiguousRef`."""
    ref, tag = await ref_of_pipelines(repositories, project_id, name)
    return PipelineFilter({"ref": ref, **equal}, _SCOPES[tag])
