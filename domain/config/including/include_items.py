"""The items of `include`: their form, before any address is looked at.

Source: docs/reference/ci-yaml.md, "Includes".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.config.including.integrity import read_integrity
from domain.config.keywords import Vocabulary
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import NOWHERE, Items, Map, Place, Reference, Value
from domain.config.rules.expression import Expressions
from domain.config.rules.rules import Rule, RuleKind, read_rules


class IncludeKind(StrEnum):
    """Where a file is included from; the key that holds its address."""

    LOCAL = "local"
    PROJECT = "project"
    REMOTE = "remote"
    TEMPLATE = "template"
    COMPONENT = "component"
    ARTIFACT = "artifact"


KINDS: Final = tuple(IncludeKind)
"""The kinds in the order in which messages list them."""

HEADER_KINDS: Final = (IncludeKind.LOCAL, IncludeKind.PROJECT, IncludeKind.REMOTE)
"""What `spec:include` takes."""

_DETAILS: Final[Mapping[str, IncludeKind | None]] = {
    "file": IncludeKind.PROJECT,
    "ref": IncludeKind.PROJECT,
    "integrity": IncludeKind.REMOTE,
    "cache": IncludeKind.REMOTE,
    "job": IncludeKind.ARTIFACT,
    "inputs": None,
    "rules": None,
}
"""Keys beside that of the kind, and the one kind they are for."""


@dataclass(frozen=True, slots=True)
class IncludeItem:
    """One item. `kind` is None for a plain string, which is an URL or else a local path; nothing is expanded yet.

    `files`, `ref`, `integrity` and `job` belong to some kinds only. `field` is the item itself, for what else is wrong
    with it.
    """

    field: Field
    kind: IncludeKind | None
    address: str
    files: tuple[str, ...] = ()
    ref: str = ""
    job: str = ""
    integrity: str = ""
    inputs: Map | None = None
    inputs_place: Place = NOWHERE
    rules: tuple[Rule, ...] | None = None


def read_items(
    field: Field, kinds: tuple[IncludeKind, ...] = KINDS, expressions: Expressions | None = None
) -> tuple[IncludeItem, ...]:
    """Every item whose form is right, in order; what is wrong with the others is noted.

    `expressions` parses the conditions of all rules of a configuration, and limits their patterns together.
    """
    expressions = Expressions() if expressions is None else expressions
    if field.value is None:
        return ()
    elements = (field,) if isinstance(field.value, Reference) else field.elements()
    return tuple(item for element in elements if (item := _item(element, kinds, expressions)) is not None)


def _item(field: Field, kinds: tuple[IncludeKind, ...], expressions: Expressions) -> IncludeItem | None:
    value = field.value
    if value is None:
        field.issues.warn(f"{field.label} has an item without content, which includes nothing", field.path, field.place)
        return None
    if isinstance(value, str):
        return IncludeItem(field, None, value) if _present(field) else None
    if isinstance(value, Reference):
        field.fault("cannot use `!reference`: files are included before references are looked up")
        return None
    if not isinstance(value, Map):
        field.fault("should be a string, a hash, or an array of strings and hashes")
        return None
    if kinds == KINDS:
        _warn_of_strays(field, value, _vocabulary(kinds))
    elif not field.has_keys_of(_vocabulary(kinds)):
        return None
    kind = _kind(field, value, kinds)
    return None if kind is None else _detailed(field, value, kind, expressions)


def _warn_of_strays(field: Field, value: Map, vocabulary: Vocabulary) -> None:
    """Keys that mean nothing change nothing, as in GitLab."""
    for key in value.keys() - vocabulary:
        message = f"{field.label} contains `{key}`, which means nothing here{nearest([key], vocabulary)}"
        field.issues.warn(message, field.path, value.places[key])


def _vocabulary(kinds: tuple[IncludeKind, ...]) -> Vocabulary:
    """The keys of an item: what decides for or speaks to one file has no place in a header."""
    details = (key for key, owner in _DETAILS.items() if owner in kinds or (owner is None and kinds == KINDS))
    return frozenset((*kinds, *details))


def _kind(field: Field, value: Map, kinds: tuple[IncludeKind, ...]) -> IncludeKind | None:
    given = [kind for kind in kinds if field.given(kind)]
    if len(given) == 1:
        return given[0]
    text = f"Each include must use only one of: {', '.join(kinds)}"
    if given:
        said = f"{text}; this one has {' and '.join(given)}"
    else:
        said = f"`{', '.join(value)}` does not have a valid subkey for {field.path}. {text}"
    field.issues.add(said, field.path, field.place)
    return None


def _detailed(field: Field, value: Map, kind: IncludeKind, expressions: Expressions) -> IncludeItem | None:
    """An item of one kind; None if a part of it could not be read."""
    before = len(field.issues)
    for key, owner in _DETAILS.items():
        if owner not in (None, kind) and field.given(key):
            message = f"{field.label} contains `{key}`, which is only for `{owner}` and without effect here"
            field.issues.warn(message, field.path, value.places[key])
    inputs = value.get("inputs")
    if inputs is not None and not isinstance(inputs, Map):
        field.entry("inputs").fault("should be a hash")
    if field.given("cache") and kind is IncludeKind.REMOTE:
        _check_cache(field.attribute("cache"))
    item = IncludeItem(
        field=field,
        kind=kind,
        address=_text(field, kind),
        files=tuple(_files(field, value)) if kind is IncludeKind.PROJECT else (),
        ref=_text(field, "ref") if kind is IncludeKind.PROJECT else "",
        job=_job(field) if kind is IncludeKind.ARTIFACT else "",
        integrity=_integrity(field) if kind is IncludeKind.REMOTE else "",
        inputs=inputs if isinstance(inputs, Map) else None,
        inputs_place=value.places.get("inputs", field.place),
        rules=_rules(field.entry("rules"), expressions) if field.given("rules") else None,
    )
    return item if len(field.issues) == before else None


def _rules(field: Field, expressions: Expressions) -> tuple[Rule, ...] | None:
    return read_rules(field, kind=RuleKind.INCLUDE, expressions=expressions)


def _text(field: Field, key: str) -> str:
    """A string that must not be blank; empty if it is not given."""
    return _string(field.attribute(key)) if field.given(key) else ""


def _string(field: Field) -> str:
    if isinstance(field.value, str):
        return field.value if _present(field) else ""
    field.issues.add(f"Included file `{_shown(field.value)}` needs to be a string", field.path, field.place)
    return ""


def _present(field: Field) -> bool:
    if isinstance(field.value, str) and field.value.strip():
        return True
    field.fault("can't be blank")
    return False


def _files(field: Field, value: Map) -> Iterator[str]:
    """The files of a project: one or a list."""
    if not field.given("file") or value["file"] == Items():
        field.fault("must specify the file where to fetch the config from")
        return
    for element in field.attribute("file").elements():
        yield _string(element)


def _integrity(field: Field) -> str:
    return (read_integrity(field.attribute("integrity")) or "") if field.given("integrity") else ""


def _job(field: Field) -> str:
    if not field.given("job"):
        field.fault("must specify the job where to fetch the artifact from")
    return _text(field, "job")


def _check_cache(field: Field) -> None:
    """True or a duration."""
    if not isinstance(field.value, bool):
        checks.duration(field)


def _shown(value: Value) -> str:
    return "..." if isinstance(value, Map | Items) else str(value)
