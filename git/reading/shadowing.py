"""Branches and tags of names that are refused today: made before they were, or by hand in the repository's folder.

Files are read, since to start git for each of thousands of repositories takes minutes.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from domain.projects.ref_names import HEADS, TAGS, counterpart, shadows, short_name

_PACKED_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of `packed-refs` that are looked at: a million refs have 80 MB."""


def shadowing_refs(repository: Path) -> list[str]:
    """Full names of the branches and tags of one bare repository that could be taken for other refs, in order.

    Raises `OSError`.
    """
    return sorted(name for name in _branches_and_tags(repository) if shadows(short_name(name)))


def ambiguous_names(repository: Path) -> list[str]:
    """Short names that a branch and a tag of one bare repository have, in order. Raises `OSError`."""
    found = _branches_and_tags(repository)
    return sorted(short_name(name) for name in found if name.startswith(HEADS) and counterpart(name) in found)


def _branches_and_tags(repository: Path) -> set[str]:
    found = {*_loose(repository), *_packed(repository / "packed-refs")}
    return {name for name in found if name.startswith((HEADS, TAGS))}


def _loose(repository: Path) -> Iterator[str]:
    for folder in (HEADS, TAGS):
        for place, _, files in os.walk(repository / folder):
            yield from (f"{Path(place, file).relative_to(repository).as_posix()}" for file in files)


def _packed(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as lines:
            text = lines.read(_PACKED_LIMIT)
    except FileNotFoundError:
        return
    for line in text.splitlines():
        if not line.startswith((b"#", b"^")):
            yield line.partition(b" ")[2].decode("utf-8", "replace")
