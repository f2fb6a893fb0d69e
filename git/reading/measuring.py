"""How large a repository is on disk, and whether there is anything in it."""

import asyncio
import os
from pathlib import Path

from domain.projects.ref_names import HEADS
from git.reading.ref_presence import first_packed
from git.repository import Repository


async def size_on_disk(repository: Repository) -> int:
    """Bytes of all files of a repository."""
    return await asyncio.to_thread(_size, repository.path)


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(root) / name).lstat().st_size
            except FileNotFoundError:
                continue
    return total


def is_empty(repository: Repository) -> bool:
    """Whether a repository has no branch. Starts no git: branches are files, or lines of one."""
    heads = repository.path / "refs" / "heads"
    if any(names for _, _, names in os.walk(heads)):
        return False
    return not first_packed(repository.path, HEADS).startswith(HEADS)
