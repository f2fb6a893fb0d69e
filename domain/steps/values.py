"""Values of inputs and outputs of steps, and their types. Source: docs/reference/steps.md, "Step files"."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from math import isfinite
from typing import Any, Final

from domain.errors import Invalid
from domain.moa.values import Value, text_of


class ValueType(StrEnum):
    """What a value may be."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    STRUCT = "struct"


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_IS: Final[Mapping[ValueType, Callable[[Any], bool]]] = {
    ValueType.STRING: lambda value: isinstance(value, str),
    ValueType.NUMBER: _is_number,
    ValueType.BOOLEAN: lambda value: isinstance(value, bool),
    ValueType.ARRAY: lambda value: isinstance(value, list),
    ValueType.STRUCT: lambda value: isinstance(value, dict),
}
_MAX_SHOWN: Final = 40
MAX_NESTED: Final = 20
"""Lists and objects in one another: each is up to three messages within one another where results are told."""
_MAX_WHOLE: Final = 2**63
"""Larger whole numbers are told by nobody exactly."""


def is_of(value: Value, wanted: ValueType) -> bool:
    """Whether a value has this type; nothing is converted."""
    return _IS[wanted](value)


def type_of(value: Value) -> str:
    """What a value is, in the words of step files; `null` for none."""
    return next((str(kind) for kind in ValueType if is_of(value, kind)), "null")


def check_value(what: str, value: Value, depth: int = 0) -> None:
    """Raise `Invalid` for what cannot be told: what is nested too deeply, too large a number, half a character."""
    if isinstance(value, str):
        if not _is_whole_text(value):
            raise Invalid(f"{what} has half of a character in it (a lone surrogate)")
    elif isinstance(value, int) and not -_MAX_WHOLE <= value < _MAX_WHOLE:
        raise Invalid(f"{what} has a number that is too large")
    elif isinstance(value, float) and not isfinite(value):
        raise Invalid(f"{what} has a number that is not finite")
    elif isinstance(value, dict | list):
        if depth >= MAX_NESTED:
            raise Invalid(f"{what} is nested more than {MAX_NESTED} times")
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            check_value(what, inner, depth + 1)


def _is_whole_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: Value, *, is_sensitive: bool = False) -> str:
    """A value as a message quotes it: short, and never a sensitive one."""
    if is_sensitive:
        return "[sensitive]"
    text = text_of(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
