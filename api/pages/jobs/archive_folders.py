"""One folder of an archive as people look at it: folders before files, with what is in them, a page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from api.pages.frame.page_count import page_count
from domain.errors import NotFound
from storage.zip_directory import Entry

PER_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Child:
    """A file or folder. `size` is bytes, of a folder those of all `files` below it.

    `refusal` is why a file is not given, in words that go behind its name.
    """

    name: str
    path: str
    size: int
    is_folder: bool
    files: int = 1
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """A page of a folder; `above` are the folders that lead to it, each with its path, itself the last."""

    path: str
    above: Sequence[tuple[str, str]]
    children: Sequence[Child]
    total: int
    page: int
    pages: int


def folder_of(entries: Sequence[Entry], path: str, page: int = 1) -> Folder:
    """A page of what is in a folder; "" is the archive itself. Raises `NotFound` when there is none of that name."""
    prefix = f"{path}/" if path else ""
    sizes: dict[tuple[bool, str], list[int]] = {}
    refusals: dict[tuple[bool, str], str] = {}
    is_there = not path
    for entry in entries:
        if not entry.name.startswith(prefix):
            continue
        is_there = True
        first, is_below, rest = entry.name[len(prefix) :].partition("/")
        if first:
            found = sizes.setdefault((not is_below, first), [0, 0])
            if rest or not is_below:
                found[0] += entry.size
                found[1] += not entry.is_folder
            if entry.refusal and not is_below:
                refusals[True, first] = entry.refusal
    if not is_there:
        raise NotFound(f"The archive has no folder {path[:200]!r}.")
    pages = page_count(len(sizes), PER_PAGE)
    page = min(max(1, page), pages)
    shown = sorted(sizes)[(page - 1) * PER_PAGE : page * PER_PAGE]
    children = [
        Child(name, prefix + name, size, not is_file, files, refusals.get((is_file, name), ""))
        for (is_file, name), (size, files) in ((key, sizes[key]) for key in shown)
    ]
    return Folder(path, trail_of(path), children, len(sizes), page, pages)


def trail_of(path: str) -> list[tuple[str, str]]:
    """The parts of a path, each with the path that leads to it."""
    parts = path.split("/") if path else []
    # Each part makes a path that is as long as all before it: of a hostile one only the first are links.
    return [(part, "/".join(parts[: number + 1])) for number, part in enumerate(parts[:MAX_TRAIL])]


MAX_TRAIL: Final = 30
"""Folders that are named above a page."""
