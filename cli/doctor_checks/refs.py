"""What `perdure doctor` says of branches and tags that could be taken for other refs."""

import asyncio
import re
from pathlib import Path
from typing import Final

from cli.doctor_checks.check import Check, State
from git.reading.shadowing import shadowing_refs
from settings import Settings

NAME: Final = "ref names"
_NAMED: Final = 10
"""How many refs the row names."""
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
    found = [f"{name} of project {path.stem}" for path in sorted(folders) for name in shadowing_refs(path)]
    if not found:
        return Check(NAME, State.OK, "no branch or tag could be taken for another ref")
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    told = f"could be taken for other refs, and are never meant by a short name: {', '.join(found[:_NAMED])}{more}"
    return Check(NAME, State.WARN, told, _FIX)
