"""One item of `rules`, as it is written. Source: docs/reference/ci-yaml.md, "Rules"."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from domain.config.keywords import Vocabulary
from domain.config.plan import Variable
from domain.config.readers.needs import Needs, read_needs
from domain.config.readers.variables import JOB_KEYS, read_variables, scalar_text
from domain.config.reading import checks
from domain.config.reading.durations import WEEK
from domain.config.reading.field import Field
from domain.config.reading.tree import Map
from domain.config.rules.auto_cancel import read_auto_cancel
from domain.config.rules.expression import Expression, Expressions
from domain.config.rules.expression_tokens import SYNTAX
from domain.config.rules.path_clauses import read_changes, read_exists
from domain.config.rules.scope import names_in
from domain.errors import Invalid

DELAYED: Final = "delayed"


_BLANK: Final = (None, "", Map())


def _variables(field: Field) -> Mapping[str, Variable] | None:
    """Names and scalars; how a value is expanded is not for a rule to say."""
    given = field.value.items() if isinstance(field.value, Map) else ()
    detailed = [name for name, value in given if isinstance(value, Map)]
    if detailed:
        field.fault(f"should be a hash of key value pairs; write `{detailed[0]}` without `value` and `expand`")
        return None
    return read_variables(field, JOB_KEYS)


def _needs(field: Field) -> Needs | None:
    """Jobs of this pipeline, by their full names."""
    needs = read_needs(field)
    for entry in needs.foreign if needs else ():
        message = f"{field.label} uses invalid types: a rule needs jobs of this pipeline only"
        field.issues.add(message, field.path, entry.place)
    return needs


_READERS: Final[Mapping[str, Callable[[Field], object]]] = {
    "changes": lambda item: read_changes(item.entry("changes")),
    "allow_failure": lambda item: checks.boolean(item.attribute("allow_failure")),
    "interruptible": lambda item: checks.boolean(item.attribute("interruptible")),
    "variables": lambda item: _variables(item.entry("variables")),
    "needs": lambda item: _needs(item.entry("needs")),
    "auto_cancel": lambda item: read_auto_cancel(item.entry("auto_cancel")),
}
"""Keywords that are read in the same way wherever they are permitted."""


def read_item(
    item: Field, vocabulary: Vocabulary, when: tuple[str, ...], most_existing: int | None, expressions: Expressions
) -> dict[str, Any] | None:
    """What is given in an item, by the names of the fields of `Rule`; what cannot be read is left out.

    `when` are the values that are permitted, `most_existing` the globs that a plain list of `exists` may have.
    """
    if not isinstance(item.value, Map) or not item.value:
        item.fault("can't be blank: it should be a hash" if item.value in _BLANK else "should be a hash")
        return None
    item.has_keys_of(vocabulary)
    read: dict[str, Any] = {
        keyword: reader(item) for keyword, reader in _READERS.items() if keyword in vocabulary and item.given(keyword)
    }
    if item.given("if"):
        read["condition"] = read_condition(item.attribute("if"), expressions)
    if item.given("exists"):
        read["exists"] = read_exists(item.entry("exists"), limit=most_existing)
    if item.given("when"):
        read["when"] = _when(item.attribute("when"), when)
    if "start_in" in vocabulary:
        read["start_in"] = _start_in(item)
    given = {keyword: value for keyword, value in read.items() if value is not None}
    given["keys"] = frozenset(key for key, value in item.value.items() if value is not None)
    given["expression"], given["names"] = _clauses(given)
    return given


def read_condition(field: Field, expressions: Expressions) -> Expression | None:
    """An expression that is right."""
    if not isinstance(field.value, str):
        field.fault(f"{SYNTAX}: it should be a string")
        return None
    try:
        return expressions.parse(field.value)
    except Invalid as error:
        field.fault(str(error))
        return None


def _when(field: Field, permitted: tuple[str, ...]) -> str | None:
    if isinstance(field.value, str) and field.value in permitted:
        return field.value
    shown = scalar_text(field.value) or type(field.value).__name__
    field.fault(f"unknown value: {shown}; it should be one of: {', '.join(permitted)}")
    return None


def _start_in(item: Field) -> int | None:
    """Only a delayed item has a delay, and it must have one of its own."""
    assert isinstance(item.value, Map)
    delayed = item.value.get("when") == DELAYED
    if item.given("start_in") and delayed:
        return checks.duration(item.attribute("start_in"), WEEK)
    if item.given("start_in"):
        item.fault("contains disallowed keys: start_in; start in must be blank without `when: delayed`")
    elif delayed:
        text = f"{item.path} start in should be a duration: start in can't be blank with `when: delayed`"
        item.issues.add(text, item.path, item.value.places["when"])
    return None


def _clauses(given: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """What the clauses say, and the variables in them."""
    parts: list[str] = []
    names: list[str] = []
    condition, changes, exists = given.get("condition"), given.get("changes"), given.get("exists")
    if condition is not None:
        parts.append(f"if: {condition.text}")
        names += condition.names
    if changes is not None:
        parts.append(f"changes: {', '.join(changes.paths)}")
        names += names_in("\n".join((*changes.paths, changes.compare_to)))
    if exists is not None:
        parts.append(f"exists: {', '.join(exists.paths)}")
        names += names_in("\n".join((*exists.paths, exists.project, exists.ref)))
    return "; ".join(parts), tuple(dict.fromkeys(names))
