"""Sections of a log: `section_start:<unix time>:<name>[options]`, a heading behind it, and `section_end:...`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

MARK: Final = re.compile(
    rb"section_(start|end):(\d{1,12}):([^\r\n\x1b\[]{1,200})(\[[^\r\n\x1b]{0,200})?\r(?:\x1b\[0K)?"
)
MAX_MARKS: Final = 4_000
"""Of one log; what comes after so many is text."""
MAX_HEADING: Final = 300
"""Bytes of a heading that are kept."""
_INVISIBLE: Final = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x20]")
_COLLAPSED: Final = "collapsed=true"


@dataclass(frozen=True, slots=True)
class Mark:
    """The beginning or the end of a section on a line, the first of which is 1.

    `alone` says that the line shows nothing else. Heading and name are bytes as the job printed them.
    """

    line: int
    is_start: bool
    seconds: int
    name: str
    collapsed: bool = False
    heading: str = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Lines `start` (its heading) to `end`, which is the one with the mark of its end; None while it is open.

    `depth` counts the sections around it, `alone` is that of its last mark.
    """

    name: str
    heading: str
    start: int
    depth: int
    collapsed: bool
    began: int
    end: int | None = None
    ended: int | None = None
    alone: bool = False

    @property
    def seconds(self) -> int | None:
        """How long it took, by its marks; None while nobody knows."""
        return None if self.ended is None else max(0, self.ended - self.began)


def marks_in(data: bytes, line: int, most: int) -> Iterator[Mark]:
    """The marks of whole lines without stamps, of which the first has number `line`; `most` of them at most."""
    if b"on_s" not in data and b"on_e" not in data:  # which is found faster than longer words
        return
    place = data.find(b"section_")
    counted_to = 0
    while place >= 0 and most > 0:
        found = MARK.match(data, place)
        if found is None:
            place = data.find(b"section_", place + 1)
            continue
        line += data.count(b"\n", counted_to, place)
        counted_to = place
        most -= 1
        yield _mark(found, line)
        place = data.find(b"section_", found.end())


def _mark(found: "re.Match[bytes]", line: int) -> Mark:
    data, kind = found.string, found[1]
    rest = data[found.end() : found.end() + MAX_HEADING].split(b"\n", 1)[0]
    name, options = (part.decode("utf-8", "replace") for part in (found[3], found[4] or b""))
    if kind == b"start":
        heading = rest.split(b"section_", 1)[0].decode("utf-8", "replace")
        return Mark(line, True, int(found[2]), name, _COLLAPSED in options, heading)
    return Mark(line, False, int(found[2]), name, alone=_shows_nothing(data, found.start(), found.end()))


def _shows_nothing(data: bytes, start: int, end: int) -> bool:
    """Whether a line has nothing to see beside a mark."""
    before = data[max(data.rfind(b"\n", max(0, start - MAX_HEADING), start) + 1, start - MAX_HEADING) : start]
    after = data[end : end + MAX_HEADING].split(b"\n", 1)[0]
    return not any(_INVISIBLE.sub(b"", MARK.sub(b"", part)) for part in (before, after))


def sections_of(marks: Iterable[Mark]) -> list[Section]:
    """Sections in the order of their beginnings.

    An end closes the innermost open section of its name, and with it those inside that were left open; one that closes
    nothing is left out.
    """
    sections: list[Section] = []
    stack: list[int] = []
    for mark in marks:
        if mark.is_start:
            stack.append(len(sections))
            sections.append(
                Section(mark.name, mark.heading, mark.line, len(stack) - 1, mark.collapsed, began=mark.seconds)
            )
            continue
        place = next((place for place in reversed(range(len(stack))) if sections[stack[place]].name == mark.name), None)
        if place is None:
            continue
        for index in stack[place:]:
            sections[index] = replace(sections[index], end=mark.line, ended=mark.seconds, alone=mark.alone)
        del stack[place:]
    return sections
