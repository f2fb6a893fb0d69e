"""`only` and `except`, the older way to say when a job is in. Source: docs/reference/ci-yaml.md, "only and except".

The keys of `only` must all hold, of those of `except` one is enough; within a key any of its items is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from domain.config.context import Context, RefKind
from domain.config.keywords import FILTER
from domain.config.readers.variables import scalar_text
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import NOWHERE, Items, Map, Place
from domain.config.rules.expression import Expression, Expressions
from domain.config.rules.path_clauses import Changes, Finding, PathMatches, find_changed
from domain.config.rules.patterns import Pattern, Patterns, delimited
from domain.config.rules.rule_items import read_condition
from domain.config.rules.rules import Decision
from domain.config.rules.scope import Scope, names_in
from domain.config.sources import Sources
from domain.config.why import PRESENT, Clause, Why
from domain.errors import Invalid

BRANCHES: Final = "branches"
TAGS: Final = "tags"
ACTIVE: Final = "active"
"""What `kubernetes` may say. Perdure knows of no clusters, so none is active."""

_KIND_WORDS: Final[Mapping[RefKind, str]] = {RefKind.BRANCH: BRANCHES, RefKind.TAG: TAGS}
_REFS_TEXT: Final = "should be an array of strings or regular expressions using re2 syntax"


@dataclass(frozen=True, slots=True)
class RefItem:
    """One item of `refs`, as `written`.

    Before its `@` is a word (a kind of ref, a source, or a ref itself) or a pattern, behind it the only project that
    is meant.
    """

    written: str
    text: str
    pattern: Pattern | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """What one of the keywords says; None for a key that is not given. `names` are the variables it speaks of."""

    refs: tuple[RefItem, ...] | None = None
    variables: tuple[Expression, ...] | None = None
    changes: tuple[str, ...] | None = None
    kubernetes: bool = False
    place: Place = NOWHERE

    @property
    def names(self) -> tuple[str, ...]:
        """The variables in the conditions, each once."""
        spoken = [name for condition in self.variables or () for name in condition.names]
        return tuple(dict.fromkeys((*spoken, *names_in("\n".join(self.changes or ())))))


DEFAULT_REFS: Final = (RefItem(BRANCHES, BRANCHES), RefItem(TAGS, TAGS))
"""The refs of a job that does not say them; so it is in no pipeline of a merge request."""


@dataclass(frozen=True, slots=True)
class _Event:
    """What filters are compared with."""

    scope: Scope
    context: Context
    sources: Sources
    matches: PathMatches


def read_filter(field: Field, expressions: Expressions | None = None) -> Filter | None:
    """A list of refs, or a mapping; hand in one `expressions` for all that a configuration holds."""
    expressions = Expressions() if expressions is None else expressions
    if isinstance(field.value, Items):
        return Filter(refs=_refs(field, expressions.patterns), place=field.place)
    if not isinstance(field.value, Map):
        field.fault("has to be either an array of conditions or a hash")
        return None
    if not field.value:
        field.fault("can't be blank")
        return None
    field.has_keys_of(FILTER)
    return Filter(
        refs=_refs(field.attribute("refs"), expressions.patterns) if field.given("refs") else None,
        variables=_conditions(field.attribute("variables"), expressions) if field.given("variables") else None,
        changes=checks.strings(field.attribute("changes")) if field.given("changes") else None,
        kubernetes=_kubernetes(field.attribute("kubernetes")) if field.given("kubernetes") else False,
        place=field.place,
    )


def decide_filters(
    only: Filter | None,
    excepted: Filter | None,
    scope: Scope,
    context: Context,
    sources: Sources,
    *,
    default: bool,
    matches: PathMatches | None = None,
) -> Decision:
    """Whether a job without rules is in.

    `default` says that a job without `only` is for branches and tags; an `only` without refs always is, as in GitLab.
    `matches` remembers what globs matched; hand in one for all decisions of a configuration.
    """
    event = _Event(scope, context, sources, PathMatches() if matches is None else matches)
    tried: list[Clause] = []
    try:
        return _decided(only, excepted, event, tried, default=default)
    except Invalid as error:
        why = Why(included=False, clause="only", text=str(error), tried=tuple(tried))
        return Decision(None, why, error=str(error))


_PRESENT: Final = "everything in `only` holds and nothing in `except`"
_BY_DEFAULT: Final = "a job without rules is for branches and tags"


def _decided(
    only: Filter | None, excepted: Filter | None, event: _Event, tried: list[Clause], *, default: bool
) -> Decision:
    if (default if only is None else only.refs is None) and not _default_holds(event, tried):
        return _verdict(tried, "a job that names no refs is for branches and tags only", included=False)
    for keyword, given, excludes in (("only", only, False), ("except", excepted, True)):
        for clause in _clauses(keyword, given, event):
            tried.append(clause)
            if clause.matched == excludes:
                text = f"`{clause.name}` {'holds' if excludes else 'does not hold'}"
                return _verdict(tried, text, included=False)
    if not tried:
        return Decision(None, PRESENT)
    return _verdict(tried, _PRESENT if only or excepted else _BY_DEFAULT, included=True)


def _default_holds(event: _Event, tried: list[Clause]) -> bool:
    finding = _ref(DEFAULT_REFS, event.context)
    tried.append(Clause("default only", finding.holds, expression="refs: branches, tags", detail=finding.detail))
    return finding.holds


def _verdict(tried: list[Clause], text: str, *, included: bool) -> Decision:
    return Decision(None, Why(included=included, clause=tried[-1].name, text=text, tried=tuple(tried)))


def _clauses(keyword: str, given: Filter | None, event: _Event) -> Iterator[Clause]:
    """Every key that is given, looked at when it is asked for."""
    if given is None:
        return
    if given.refs is not None:
        written = ", ".join(item.written for item in given.refs)
        yield _clause(f"{keyword}:refs", written, _ref(given.refs, event.context), given)
    if given.variables is not None:
        written = ", ".join(condition.text for condition in given.variables)
        holds = any(condition.evaluate(event.scope.get) for condition in given.variables)
        clause = _clause(f"{keyword}:variables", written, Finding(holds, ""), given)
        yield replace(clause, values=event.scope.shown(given.names), private=event.scope.private(given.names))
    if given.changes is not None:
        yield _clause(f"{keyword}:changes", ", ".join(given.changes), _change(given.changes, event), given)
    if given.kubernetes:
        yield _clause(f"{keyword}:kubernetes", ACTIVE, Finding(holds=False, detail="no cluster is active"), given)


def _clause(name: str, written: str, finding: Finding, given: Filter) -> Clause:
    return Clause(
        name=name,
        matched=finding.holds,
        expression=f"{name.partition(':')[2]}: {written}",
        detail=finding.detail,
        file=given.place.file,
        line=given.place.line,
    )


def _change(globs: tuple[str, ...], event: _Event) -> Finding:
    """Unlike those of `rules`, these globs are compared whatever their number."""
    return find_changed(Changes(globs), event.scope, event.sources, event.matches, limit=None)


def _ref(items: tuple[RefItem, ...], context: Context) -> Finding:
    for item in items:
        if _is_for(item, context):
            return Finding(holds=True, detail=f"matched: {item.written}")
    return Finding(holds=False, detail=f"the pipeline is for {context.ref_kind} {context.ref}, source {context.source}")


def _is_for(item: RefItem, context: Context) -> bool:
    """Names of refs mean branches and tags only: a pipeline of a merge request has none."""
    if item.project is not None and item.project != context.project_path:
        return False
    source = context.source.removesuffix("_event")
    if item.text in (_KIND_WORDS.get(context.ref_kind), source, _plural(source)):
        return True
    if context.ref_kind not in _KIND_WORDS:
        return False
    return item.pattern.matches(context.ref) if item.pattern else item.text == context.ref


def _plural(word: str) -> str:
    if word.endswith(("s", "x", "sh", "ch")):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("cy") else f"{word}s"


def _refs(field: Field, patterns: Patterns) -> tuple[RefItem, ...] | None:
    texts = _texts(field)
    try:
        return None if texts is None else tuple(_ref_item(text, patterns) for text in texts)
    except Invalid as error:
        field.fault(f"{_REFS_TEXT}: {error}")
        return None


def _texts(field: Field) -> tuple[str, ...] | None:
    found = [value for value in field.value if isinstance(value, str)] if isinstance(field.value, Items) else []
    if isinstance(field.value, Items) and len(found) == len(field.value):
        return tuple(found)
    field.fault(_REFS_TEXT)
    return None


def _ref_item(written: str, patterns: Patterns) -> RefItem:
    """The whole item must be right if it looks like a pattern; an `@` ends it all the same, as in GitLab."""
    if delimited(written):
        patterns.read(written)
    text, at, project = written.partition("@")
    try:
        pattern = patterns.read(text) if delimited(text) else None
    except Invalid:
        pattern = None
    return RefItem(written, text, pattern, project if at else None)


def _conditions(field: Field, expressions: Expressions) -> tuple[Expression, ...] | None:
    if checks.strings(field) is None:
        return None
    read = [read_condition(element, expressions) for element in field.elements()]
    found = tuple(condition for condition in read if condition is not None)
    return found if len(found) == len(read) else None


def _kubernetes(field: Field) -> bool:
    if field.value == ACTIVE:
        return True
    field.fault(f"unknown value: {scalar_text(field.value) or 'none'}; it should be `{ACTIVE}`")
    return False
