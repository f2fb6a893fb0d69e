"""`needs` and `dependencies` as they are written; `graph` looks up where they point. Reference: CI YAML, section 7."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from domain.config import checks
from domain.config.field import Field
from domain.config.keywords import NEED
from domain.config.tree import Items, Map, Place

LONGEST_NAME: Final = 255
"""Characters of a job's name (reference: CI YAML, section 16)."""


@dataclass(frozen=True, slots=True)
class NeedEntry:
    """One item of `needs`; `job` may still be the base name of a parallel job."""

    job: str
    artifacts: bool
    optional: bool
    place: Place


@dataclass(frozen=True, slots=True)
class DependencyEntry:
    """One item of `dependencies`."""

    job: str
    place: Place


def read_needs(field: Field) -> tuple[NeedEntry, ...] | None:
    """A list of names and mappings, or one mapping."""
    if not isinstance(field.value, Items | Map):
        field.fault("can only be a hash or an array")
        return None
    return tuple(_readable(field))


def read_dependencies(field: Field) -> tuple[DependencyEntry, ...] | None:
    """A list of names."""
    names = checks.strings(field)
    if names is None or not isinstance(field.value, Items):
        return None
    return tuple(DependencyEntry(name, place) for name, place in zip(names, field.value.places, strict=True))


def _readable(field: Field) -> Iterator[NeedEntry]:
    path = f"{field.path}:need"
    for element in field.elements():
        need = Field(element.value, path, f"{path} config", element.place, field.issues)
        entry = _need(need)
        if entry is not None:
            yield entry


def _need(field: Field) -> NeedEntry | None:
    if isinstance(field.value, str):
        return NeedEntry(_name(field, field.value), artifacts=True, optional=False, place=field.place)
    if not isinstance(field.value, Map):
        field.fault("has an unsupported type; write the name of a job or a mapping with `job`")
        return None
    before = len(field.issues)
    field.has_keys_of(NEED)
    if len(field.issues) > before:
        return None
    if not field.given("job"):
        field.issues.add(f"{field.path} job can't be blank", field.path, field.place)
        return None
    job = field.attribute("job")
    name = checks.text(job)
    if name is None:
        return None
    return NeedEntry(
        job=_name(job, name),
        artifacts=_flag(field, "artifacts", default=True),
        optional=_flag(field, "optional", default=False),
        place=field.place,
    )


def _name(field: Field, name: str) -> str:
    if not name.strip():
        field.fault("can't be blank")
    if len(name) > LONGEST_NAME:
        field.fault(f"is too long (maximum is {LONGEST_NAME} characters)")
    return name


def _flag(field: Field, key: str, *, default: bool) -> bool:
    if not field.given(key):
        return default
    return bool(checks.boolean(field.attribute(key)))
