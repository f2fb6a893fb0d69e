"""Values that are carried as plain JSON, and mappings of which a table says what may stand in them."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple, TypeAlias

from domain.config.plan import Document
from domain.config.reading import checks
from domain.config.reading.field import Field
from domain.config.reading.tree import Items, Map, Place, Value

MAX_NUMBER: Final = 2**63 - 1
"""Integers beyond 64 bits cannot be stored or sent."""


class Key(NamedTuple):
    """What may stand at one key. A `nested` value is called by its path, others by the name of their key."""

    read: Callable[[Field], Any]
    required: bool = False
    nested: bool = False


Shape: TypeAlias = Mapping[str, Key]
"""Everything that one mapping may hold."""


def read_shape(field: Field, shape: Shape) -> Document | None:
    """What a mapping holds by its shape; what is wrong is noted and left out. None if it is no mapping."""
    if not field.has_keys_of(frozenset(shape)):
        return None
    found = {}
    for name, key in shape.items():
        if field.given(name):
            value = key.read(field.entry(name) if key.nested else field.attribute(name))
            if value is not None:
                found[name] = value
        elif key.required:
            checks.lacks(field, name)
    return found


def plain(field: Field) -> Any:
    """The value as JSON; notes numbers that JSON cannot carry."""
    return _plain(field.value, field.place, field)


def mapping(field: Field) -> Document | None:
    """A mapping as JSON."""
    if isinstance(field.value, Map):
        found: Document = plain(field)
        return found
    field.fault("should be a hash")
    return None


def _plain(value: Value, place: Place, field: Field) -> Any:
    if isinstance(value, Map):
        return {key: _plain(inner, value.places[key], field) for key, inner in value.items()}
    if isinstance(value, Items):
        return [_plain(inner, at, field) for inner, at in zip(value, value.places, strict=True)]
    if isinstance(value, int | float) and not (isfinite(value) and abs(value) <= MAX_NUMBER):
        message = f"{field.label} contains a number that is not finite or too large; put quotes around it"
        field.issues.add(message, field.path, place)
    return value
