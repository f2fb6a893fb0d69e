"""`only` and `except`. GitLab: "Deprecated keywords", "only / except"."""

import re
from collections.abc import Iterator
from typing import Any, Final

from tests.fuzz.valid.conditions import Get, holds
from tests.fuzz.valid.world import Document, Happening

DEFAULT: Final = ["branches", "tags"]


def passes(job: Document, happening: Happening, get: Get, *, by_default: bool) -> bool:
    """All keys of `only` must hold, none of `except`; an `only` without refs is for branches and tags.

    `by_default` says that a job without `only` is for them too, as long as the workflow has no rules.
    """
    only, excepted = _keys(job.get("only")), _keys(job.get("except"))
    if only is not None or by_default:
        only = {"refs": DEFAULT, **(only or {})}
    return all(_holds(only or {}, happening, get)) and not any(_holds(excepted or {}, happening, get))


def _keys(given: Any) -> Document | None:
    return {"refs": given} if isinstance(given, list) else given


def _holds(keys: Document, happening: Happening, get: Get) -> Iterator[bool]:
    if "refs" in keys:
        yield any(_is_for(ref, happening) for ref in keys["refs"])
    if "variables" in keys:
        yield any(holds(text.condition, get) for text in keys["variables"])
    if "changes" in keys:
        yield happening.differs(keys["changes"], get, compared=False)


def _is_for(ref: str, happening: Happening) -> bool:
    """A word for a source, a word for a kind of ref, a name, or a pattern; merge requests have only the first."""
    plurals = {"schedules": "schedule", "pushes": "push", "merge_requests": "merge_request_event", "web": "web"}
    if ref in plurals:
        return plurals[ref] == happening.source
    if happening.is_merge_request:
        return False
    if ref in DEFAULT:
        return ref == {"branch": "branches", "tag": "tags"}[happening.kind]
    if ref.startswith("/"):
        return re.search(ref[1:-1], happening.ref) is not None
    return ref == happening.ref
