"""What differs between two commits as a page shows it: some files at a time, each with some of its lines.

However much differs, a page has a bounded number of files and lines; the rest is on other pages, or raw.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from api.pages.frame.page_count import page_count
from domain.diffs.patch import Hunk, Patch, read_patch
from domain.diffs.visible_text import deceives
from domain.errors import NotFound
from git.reading.diffs import FileDiff, changed_files, with_patches
from git.reading.line_counts import LineCounts, line_counts
from git.repository import Repository

PER_PAGE: Final = 20
"""Files of one page."""
LINES_OF_FILE: Final = 400
"""A file with more lines is folded."""
LINES_OF_PAGE: Final = 2_000
"""Lines of all files of a page; those behind them are folded."""
LINES_ALONE: Final = 3_000
"""Lines of a file that has a page to itself."""
MAX_INDEX: Final = 200
"""Files that the index names; the pages name all."""

_NOTHING: Final = LineCounts(0, 0)
_SUBMODULE: Final = "160000"


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file; `folded` says why no lines are shown, `cut` how many lines are not."""

    diff: FileDiff
    anchor: str
    counts: LineCounts
    patch: Patch
    alone: str
    folded: str = ""
    cut: int = 0

    @property
    def path(self) -> str:
        """Where it is now, or was."""
        return self.diff.new_path

    @property
    def deceives(self) -> bool:
        """Whether it holds text that looks other than it is."""
        return any(deceives(line.text) for hunk in self.patch.hunks for line in hunk.lines)

    @property
    def returns(self) -> bool:
        """Whether all of its lines end with a carriage return, which is not worth showing then."""
        lines = [line for hunk in self.patch.hunks for line in hunk.lines if not line.last]
        return bool(lines) and all(line.text.endswith("\r") for line in lines)

    @property
    def facts(self) -> Sequence[str]:
        """What happened to it besides its lines, in words."""
        diff = self.diff
        modes = not diff.new_file and not diff.deleted_file and diff.a_mode != diff.b_mode
        found = {
            "new file": diff.new_file,
            "deleted": diff.deleted_file,
            f"renamed from {diff.old_path}": diff.renamed_file,
            f"mode changed from {diff.a_mode} to {diff.b_mode}": modes and not diff.type_changed,
            f"became {_kind(diff.b_mode)}, was {_kind(diff.a_mode)}": diff.type_changed,
            "executable": diff.new_file and diff.b_mode == "100755",
            "symbolic link": diff.new_file and diff.b_mode == "120000",
            "submodule": _SUBMODULE in {diff.a_mode, diff.b_mode} and not diff.type_changed,
        }
        return [words for words, there in found.items() if there]


def _kind(mode: str) -> str:
    return {"120000": "a symbolic link", _SUBMODULE: "a submodule"}.get(mode, "a file")


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A file in the index, with the address of its place."""

    path: str
    href: str
    counts: LineCounts


@dataclass(frozen=True, slots=True)
class ShownDiff:
    """One page of what differs; `number` of `last` pages. `one` is the path of the file that has a page to itself."""

    files: Sequence[ShownFile]
    index: Sequence[IndexEntry]
    total: int
    added: int
    removed: int
    number: int = 1
    last: int = 1
    one: str = ""


def anchor_of(path: str) -> str:
    """The name of a file's place on a page, GitLab's."""
    return hashlib.sha1(path.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


async def shown_diff(
    repository: Repository, old: str, new: str, address: str, *, number: int = 1, path: str = ""
) -> ShownDiff:
    """A page of what differs between two commits or trees, or the file `path` alone.

    `address` is that of the page. Raises `NotFound` for a file that does not differ, `TooLarge`, `Unavailable`.
    """
    files, counts = await asyncio.gather(changed_files(repository, old, new), line_counts(repository, old, new))
    last = page_count(len(files), PER_PAGE)
    first, count = (min(number, last) - 1) * PER_PAGE, PER_PAGE
    if path:
        found = next((at for at, file in enumerate(files) if file.new_path == path), None)
        if found is None:
            raise NotFound("This file does not differ.")
        first, count = found, 1
    patches = await with_patches(repository, old, new, files, first=first, count=count)
    room = LINES_ALONE if path else LINES_OF_PAGE
    shown: list[ShownFile] = []
    for file in patches:
        one = _shown(file, counts.get(file.new_path, _NOTHING), address, room, alone=bool(path))
        room -= one.patch.lines
        shown.append(one)
    return ShownDiff(
        shown,
        [] if path else _index(files, counts, address),
        len(files),
        sum(one.added or 0 for one in counts.values()),
        sum(one.removed or 0 for one in counts.values()),
        min(number, last),
        last,
        path,
    )


def _shown(file: FileDiff, counts: LineCounts, address: str, room: int, *, alone: bool) -> ShownFile:
    patch = read_patch(file.diff)
    place = f"{address}{'&' if '?' in address else '?'}file={quote(file.new_path, safe='/')}"
    one = ShownFile(file, anchor_of(file.new_path), counts, patch, place)
    if file.too_large:
        return replace(one, folded="Its patch is too large to be shown; read it raw.", alone="")
    if file.collapsed:
        return replace(one, folded="This page is full.")
    if patch.binary:
        return replace(one, folded="Binary file.", alone="")
    if alone:
        return replace(one, patch=_cut(patch, room), cut=max(0, patch.lines - room))
    if patch.lines > min(room, LINES_OF_FILE):
        why = "Many lines differ." if patch.lines > LINES_OF_FILE else "This page is full."
        return replace(one, patch=Patch(), folded=why)
    return one


def _cut(patch: Patch, most: int) -> Patch:
    """The first lines of a patch."""
    hunks: list[Hunk] = []
    for hunk in patch.hunks:
        if most > 0:
            hunks.append(replace(hunk, lines=hunk.lines[:most]))
        most -= len(hunk.lines)
    return replace(patch, hunks=tuple(hunks))


def _index(files: Sequence[FileDiff], counts: dict[str, LineCounts], address: str) -> list[IndexEntry]:
    return [
        IndexEntry(
            file.new_path,
            f"{address}{'&' if '?' in address else '?'}page={at // PER_PAGE + 1}#{anchor_of(file.new_path)}",
            counts.get(file.new_path, _NOTHING),
        )
        for at, file in enumerate(files[:MAX_INDEX])
    ]
