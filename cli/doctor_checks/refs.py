"""What `perdure doctor` says of branches and tags that could be taken for other refs."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cli.doctor_checks.check import Check, State
from git.reading.shadowing import ambiguous_names, shadowing_refs
from settings import Settings

NAME: Final = "ref names"
_NAMED: Final = 10
"""How many refs the row names."""
_SHADOWING: Final = "could be taken for other refs, and are never meant by a short name"
_PAIRS: Final = "names of a branch and of a tag, which includes, pipelines, needs and archives refuse until one is gone"
_REPOSITORY: Final = re.compile(r"([1-9][0-9]*)\.git")
_FIX: Final = (
    "Look at who pushed them, then remove each: `git push origin --delete NAME`, or "
    '`curl -X DELETE -H "PRIVATE-TOKEN: $TOKEN" $URL/api/v4/projects/ID/repository/branches/NAME` (tags/NAME)'
)


async def ref_names(settings: Settings) -> Check:
    """Whether a project has branches or tags whose names are refused today."""
    return await asyncio.to_thread(_look, settings.repository_root)


def _look(root: Path) -> Check:
    folders = [path for path in root.glob("*.git") if _REPOSITORY.fullmatch(path.name)] if root.is_dir() else []
    shadowing = [f"{name} of project {path.stem}" for path in sorted(folders) for name in shadowing_refs(path)]
    pairs = [f"{name} of project {path.stem}" for path in sorted(folders) for name in ambiguous_names(path)]
    told = [f"{words}: {_named(found)}" for words, found in ((_SHADOWING, shadowing), (_PAIRS, pairs)) if found]
    if not told:
        return Check(NAME, State.OK, "no branch or tag could be taken for another ref")
    return Check(NAME, State.WARN, "; ".join(told), _FIX)


def _named(found: Sequence[str]) -> str:
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{', '.join(found[:_NAMED])}{more}"
