"""Reading single values: text, numbers, words of a list, commands, durations.

Each takes a `Field` and returns the value, or None after it noted what is wrong. Texts: reference, CI YAML, section 1.
"""

from collections.abc import Collection, Iterator
from typing import Final

from domain.config.durations import parse_duration
from domain.config.field import Field
from domain.config.tree import Items, Value
from domain.errors import Invalid

NESTING: Final = 10
"""Levels of lists within lists (reference: CI YAML, section 16)."""


def text(field: Field) -> str | None:
    """A string."""
    if isinstance(field.value, str):
        return field.value
    field.fault("should be a string")
    return None


def boolean(field: Field) -> bool | None:
    """True or false."""
    if isinstance(field.value, bool):
        return field.value
    field.fault("should be a boolean value")
    return None


def choice(field: Field, permitted: Collection[str]) -> str | None:
    """One of the permitted words."""
    if isinstance(field.value, str) and field.value in permitted:
        return field.value
    field.fault(f"should be one of: {', '.join(permitted)}")
    return None


def whole_number(field: Field, low: int, high: int) -> int | None:
    """An integer between `low` and `high`, both included."""
    value = field.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        field.fault("is not a number")
    elif not isinstance(value, int):
        field.fault("must be an integer")
    elif value < low:
        field.fault(f"must be greater than or equal to {low}")
    elif value > high:
        field.fault(f"must be less than or equal to {high}")
    else:
        return value
    return None


def strings(field: Field) -> tuple[str, ...] | None:
    """A list of strings."""
    if isinstance(field.value, Items):
        found = _strings_of(field.value)
        if found is not None:
            return found
    field.fault("should be an array of strings")
    return None


def strings_or_string(field: Field) -> tuple[str, ...] | None:
    """A list of strings, or one."""
    found = _strings_of(field.value if isinstance(field.value, Items) else [field.value])
    if found is None:
        field.fault("should be an array of strings or a string")
    return found


def integers_or_integer(field: Field) -> tuple[int, ...] | None:
    """A list of integers, or one."""
    values = field.value if isinstance(field.value, Items) else [field.value]
    found = tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool))
    if len(found) == len(values):
        return found
    field.fault("should be an array of integers or an integer")
    return None


def commands(field: Field) -> tuple[str, ...] | None:
    """Lines of a script: a string, or lists of strings within lists, flattened."""
    try:
        return tuple(_flat(field.value, NESTING))
    except Invalid:
        field.fault(f"should be a string or a nested array of strings up to {NESTING} levels deep")
        return None


def nested_strings(field: Field) -> tuple[str, ...] | None:
    """A list of strings or of such lists, flattened."""
    try:
        if isinstance(field.value, Items):
            return tuple(_flat(field.value, NESTING))
    except Invalid:
        pass
    field.fault(f"should be an array of strings or a nested array of strings up to {NESTING} levels deep")
    return None


def duration(field: Field, limit: int | None = None) -> int | None:
    """A duration in seconds that stays under `limit`."""
    seconds = None
    if isinstance(field.value, str):
        try:
            seconds = parse_duration(field.value)
        except Invalid:
            seconds = None
    if seconds is None:
        field.fault("should be a duration")
    elif limit is not None and seconds >= limit:
        field.fault("should not exceed the limit")
        return None
    return seconds


def _strings_of(values: list[Value]) -> tuple[str, ...] | None:
    found = tuple(value for value in values if isinstance(value, str))
    return found if len(found) == len(values) else None


def _flat(value: Value, levels: int) -> Iterator[str]:
    """Strings in order; raises `Invalid` for anything else and for more than `levels` levels."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Items) and levels > 0:
        for element in value:
            yield from _flat(element, levels - 1)
    else:
        raise Invalid("neither a string nor a list within the limit")
