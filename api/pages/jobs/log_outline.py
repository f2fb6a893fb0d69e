"""What a viewer knows of a log before it sees lines: how many there are, sections, errors, where it opens."""

from collections.abc import Sequence
from typing import Any, Final

from api.pages.jobs.log_lines import heading_of, name_of
from api.v4.jobs.log import Log
from domain.logs.failure import failure_in
from domain.logs.index import Part, lines_of
from domain.logs.sections import MAX_HEADING, Section, sections_of
from domain.masking import Secrets
from domain.pipelines.status import Status

MAX_ERRORS: Final = 2_000
"""Places of errors that are named, the last ones."""


def outline(log: Log, index: Part, status: str, seen: str = "") -> dict[str, Any]:
    """As a document. `seen` is the one of an outline that the viewer has: without what has not changed since.

    A section is `[first line, line of its end or 0, depth, collapsed, seconds or -1, whether the line of its end shows
    nothing else, heading or name as HTML]`.
    """
    total = lines_of(index.after, log.size)
    version = f"{log.generation}.{len(index.marks)}.{len(index.errors)}.{log.frozen:d}"
    document: dict[str, Any] = {
        "generation": log.generation,
        "size": log.size,
        "frozen": log.frozen,
        "total": total,
        "seen": version,
    }
    if version == seen:
        return document
    sections = sections_of(index.marks)
    failed = failure_in(index, sections, total) if log.frozen and status == Status.FAILED else None
    return document | {
        "sections": [_shown(one, log.secrets) for one in sections],
        "errors": list(index.errors[-MAX_ERRORS:]),
        "failure": None if failed is None else [failed.line, failed.sections],
    }


def _shown(section: Section, secrets: Secrets) -> Sequence[Any]:
    heading = heading_of(masked(section.heading, secrets))
    return (
        section.start,
        section.end or 0,
        section.depth,
        section.collapsed,
        -1 if section.seconds is None else section.seconds,
        section.alone,
        heading or name_of(masked(section.name, secrets)),
    )


def masked(text: str, secrets: Secrets) -> str:
    """A heading without secrets; of one that is cut nothing that may be the beginning of one."""
    data = text.encode("utf-8", "replace")
    shown = secrets.masked(data)
    if len(data) >= MAX_HEADING:
        shown = shown[: secrets.open_end(data)]
    return shown.decode("utf-8", "replace")
