"""From a text to one mapping: includes, inputs, `extends`, `!reference`.

Source: docs/reference/ci-yaml.md, "Order of reading".
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from domain.config import extends
from domain.config.context import Context
from domain.config.entries import Entries
from domain.config.including.includes import expand
from domain.config.job import read_job
from domain.config.keywords import TOP
from domain.config.plan import Included
from domain.config.reading.budget import Budget
from domain.config.reading.field import Field
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Items, Map, Place
from domain.config.reading.yaml_text import REFERENCE
from domain.config.references import resolve_references
from domain.config.rules.expression import Expressions
from domain.config.sources import Fetched, Sources
from domain.config.toplevel import read_toplevel
from domain.errors import ConfigInvalid

FOLLOWING: Final = (
    "`extends`",
    REFERENCE,
    "config should implement the script:",
    "should contain either a trigger",
    "script can't be blank",
    "at least one visible job",
    "config can't be blank",
)
"""Gists of issues that may only follow from a part that is missing."""

OF_NULLS: Final = ("array of strings", "should be a hash", "array containing hashes")
"""Gists of issues that may only follow from a reference that led nowhere: a null is left in its place."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The configuration as one mapping; `unread` names jobs whose `extends` could not be carried out."""

    root: Map
    unread: frozenset[str]
    includes: tuple[Included, ...]


def resolve(
    text: str, context: Context, sources: Sources, issues: Issues, budget: Budget, reads: set[str]
) -> Resolved | None:
    """The configuration with all that it includes; None if something is wanted first.

    Raises `ConfigInvalid` if files or references are missing, with all that is wrong with what is there.
    """
    source = sources.parsed.read(text, issues)
    loaded = expand(source, context, sources, issues, budget, reads)
    if sources.wanted:
        return None
    texts = [text, *(answer.text for answer in sources.known.values() if isinstance(answer, Fetched))]
    refers = any(REFERENCE in one for one in texts)
    if len(issues):
        _tell_what_is_there(loaded.root, issues, budget, refers=refers, following=FOLLOWING)
    root, unread = extends.resolve(loaded.root, issues, budget)
    before = len(issues)
    root = resolve_references(root, issues, budget) if refers else root
    if len(issues) > before:
        _tell_what_is_there(root, issues, budget, refers=False, following=(*FOLLOWING, *OF_NULLS))
    return Resolved(root, unread, loaded.includes)


def visible_jobs(root: Map, issues: Issues) -> dict[str, Field]:
    """Every job that is not hidden; of hidden ones only those without content are wrong."""
    found = {}
    for name, value in root.items():
        if name in TOP:
            continue
        path, place = f"jobs:{name}", root.places[name]
        if not name.startswith("."):
            found[name] = Field(value, path, f"{path} config", place, issues)
        elif value is False or value in (None, "", Map(), Items()):
            issues.add(f"{path} config can't be blank", path, place)
    if not found:
        issues.add("jobs config should contain at least one visible job", "jobs", Place(1, 1))
    return found


def _tell_what_is_there(
    root: Map, issues: Issues, budget: Budget, *, refers: bool, following: Sequence[str]
) -> NoReturn:
    """Raise `ConfigInvalid`: parts are missing, but what is wrong with single keywords is told as well."""
    apart = Issues(issues.file)
    with suppress(ConfigInvalid):
        root, unread = extends.resolve(root, apart, budget)
        root = resolve_references(root, apart, budget) if refers else root
        expressions = Expressions()
        entries = Entries(expressions)
        top = read_toplevel(root, entries, expressions, apart)
        for name, config in visible_jobs(root, apart).items():
            if name not in unread:
                read_job(name, config, top.defaults, entries)
    told = set(issues.found)
    for issue in apart.found:
        if issue not in told and not any(gist in issue.message for gist in following):
            issues.adopt(issue)
    issues.give_up()
