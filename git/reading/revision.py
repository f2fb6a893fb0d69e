"""Commits by any name that people give them."""

import re
from typing import Final

from domain.errors import AmbiguousRef, Invalid, NotFound
from git.repository import Repository

_WAY: Final = re.compile(r"(.+?)((?:[~^]\d{0,9}){1,20})")
"""A name and a way to its ancestors, as in `main~2` or `v1^2`."""


async def commit_named(repository: Repository, name: str) -> str | None:
    """The commit that a branch, tag, full ref name or (abbreviated) sha leads to, and `~` and `^` from there on.

    None when there is none, also for a name that nothing can have. Raises `AmbiguousRef`.
    """
    found = _WAY.fullmatch(name)
    base, way = found.groups() if found is not None else (name, "")
    try:
        sha = await repository.resolve(base)
        return sha if sha is None or not way else (await repository.object_ids([f"{sha}{way}^{{commit}}"]))[0]
    except AmbiguousRef:
        raise
    except (Invalid, NotFound):
        return None
