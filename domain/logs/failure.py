"""Where a failed job's log is opened: at what went wrong."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.logs.index import Part
from domain.logs.sections import Section

_AFTERWARDS: Final = ("after_script", "upload_artifacts", "archive_cache", "cleanup_file_variables")
"""Sections by the beginning of their names that a runner writes when the script has ended, well or badly."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The line, and the sections around it by their place in the list of all."""

    line: int
    sections: tuple[int, ...]


def failure_in(index: Part, sections: Sequence[Section], lines: int) -> Failure:
    """Where a log of `lines` lines, of a job that has failed, says why.

    That is the last error in the last section of the job's own that began before the runner said that the job has
    failed; where no line looks like an error, the end of that section.
    """
    verdict = index.after.verdict or lines
    own = [one for one in sections if one.start <= verdict and not one.depth and not one.name.startswith(_AFTERWARDS)]
    first, last = 1, verdict
    if own:
        first = own[-1].start
        last = min(verdict, _last_line(own[-1], lines))
    before = bisect_right(index.errors, last)
    place = before - 1
    found = index.errors[place] if place >= bisect_left(index.errors, first) else 0
    if own and found >= index.after.verdict > 0:  # the verdict itself says nothing of why
        found = 0
    line = max(1, found or last)
    around = tuple(
        number for number, one in enumerate(sections) if one.start <= line and line <= _last_line(one, lines)
    )
    return Failure(line, around)


def _last_line(section: Section, lines: int) -> int:
    """The last line inside; the one with its end shows what comes after it."""
    return lines if section.end is None else max(section.start, section.end - (not section.alone))
