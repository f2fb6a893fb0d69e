"""A file's patch, read line by line: what each line was, where it stood before and where it stands now.

Source of the rules: git's documentation of the diff format ("Generating patch text with -p") and GNU diff's of the
unified format. How long a hunk is stands in its head, so that no line of a file can pass for the beginning of one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_HEAD: Final = re.compile(r"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@ ?(.*)")
_BINARY: Final = "Binary files "
_NO_NEWLINE: Final = "\\"


class Change(StrEnum):
    """What became of a line."""

    KEPT = "kept"
    ADDED = "added"
    REMOVED = "removed"


_SIGNS: Final = {" ": Change.KEPT, "+": Change.ADDED, "-": Change.REMOVED, "": Change.KEPT}
"""A line without a sign is an empty one from which a mail program has taken the blank."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line; `old` and `new` are its numbers from 1, None on the side where it is not.

    `place` has both numbers, on the side where it is not that of the line which follows: GitLab's name of a line.
    `last` says that the file ends here without a newline.
    """

    change: Change
    place: tuple[int, int]
    text: str
    last: bool = False

    @property
    def old(self) -> int | None:
        """Its number before."""
        return None if self.change is Change.ADDED else self.place[0]

    @property
    def new(self) -> int | None:
        """Its number now."""
        return None if self.change is Change.REMOVED else self.place[1]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that follow each other; `heading` is what git found to name the place, a function or a class."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class Patch:
    """All of a file's patch. `binary`: the file is no text, so that nothing else is known."""

    hunks: tuple[Hunk, ...] = ()
    binary: bool = False

    @property
    def added(self) -> int:
        """How many lines came."""
        return self._count(Change.ADDED)

    @property
    def removed(self) -> int:
        """How many lines went."""
        return self._count(Change.REMOVED)

    @property
    def lines(self) -> int:
        """How many lines it shows."""
        return sum(len(hunk.lines) for hunk in self.hunks)

    def _count(self, change: Change) -> int:
        return sum(line.change is change for hunk in self.hunks for line in hunk.lines)


def read_patch(text: str) -> Patch:
    """The patch of one file from its first hunk on, or the line of git that says that it is binary.

    A file whose type changed has two patches one after the other; whatever stands between hunks is left out.
    """
    lines = iter(text.split("\n"))
    hunks: list[Hunk] = []
    binary = is_behind_hunk = False
    for line in lines:
        if (head := _HEAD.fullmatch(line)) is not None:
            hunks.append(_hunk(head, lines))
        elif line.startswith(_NO_NEWLINE) and is_behind_hunk:
            hunks[-1] = _ended(hunks[-1])
        elif line.startswith(_BINARY):
            binary = True
        is_behind_hunk = head is not None
    return Patch(tuple(hunks), binary)


def _hunk(head: re.Match[str], following: Iterator[str]) -> Hunk:
    old_start, old_count, new_start, new_count = (int(one or "1") for one in head.groups()[:4])
    return Hunk(
        old_start,
        old_count,
        new_start,
        new_count,
        head[5],
        tuple(_lines(old_start, old_count, new_start, new_count, following)),
    )


def _lines(old: int, old_count: int, new: int, new_count: int, following: Iterator[str]) -> Sequence[DiffLine]:
    """So many lines of both sides; a text that is cut has fewer."""
    found: list[DiffLine] = []
    old_end, new_end = old + old_count, new + new_count
    while old < old_end or new < new_end:
        line = next(following, None)
        if line is None:
            break
        if line.startswith(_NO_NEWLINE):
            found[-1:] = [_at_the_end(one) for one in found[-1:]]
            continue
        change = _SIGNS.get(line[:1])
        if change is None:
            break
        found.append(DiffLine(change, (old, new), line[1:]))
        old += change is not Change.ADDED
        new += change is not Change.REMOVED
    return found


def _at_the_end(line: DiffLine) -> DiffLine:
    return DiffLine(line.change, line.place, line.text, last=True)


def _ended(hunk: Hunk) -> Hunk:
    lines = (*hunk.lines[:-1], *map(_at_the_end, hunk.lines[-1:]))
    return Hunk(hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count, hunk.heading, lines)
