"""Whether a ref is there, read without starting git: hand-outs of jobs ask it within their transaction.

Source of the rules: git's gitrepository-layout(5), `refs` and `packed-refs`.
"""

import asyncio
from pathlib import Path

from git.names import checked_ref


async def has_ref(repository: Path, name: str) -> bool:
    """Whether a bare repository has a ref of this full name. Raises `Invalid` for a name that git forbids."""
    if (repository / checked_ref(name)).is_file():
        return True
    # Looked at second: git writes a ref there before it removes the file of its own.
    return await asyncio.to_thread(_is_packed, repository / "packed-refs", name)


def _is_packed(file: Path, name: str) -> bool:
    try:
        return f" {name}\n".encode() in file.read_bytes()
    except FileNotFoundError:
        return False
