"""Branches and tags of names that are refused today: made before they were, or by hand in the repository's folder."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from domain.projects.ref_names import HEADS, TAGS, shadows, short_name

_PACKED_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of `packed-refs` that are looked at: a million refs have 80 MB."""


def shadowing_refs(repository: Path) -> list[str]:
    """Full names of the branches and tags of one bare repository that could be taken for other refs, in order.

    Reads files, since to start git for each of thousands of repositories takes minutes. Raises `OSError`.
    """
    found = {*_loose(repository), *_packed(repository / "packed-refs")}
    return sorted(name for name in found if name.startswith((HEADS, TAGS)) and shadows(short_name(name)))


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
