"""Values of inputs and outputs of steps, and their types. Source: docs/reference/steps.md, "Step files"."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from math import isfinite
from typing import Any, Final

from domain.moa.values import Value, text_of


class ValueType(StrEnum):
    """What a value may be."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    STRUCT = "struct"


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


_IS: Final[Mapping[ValueType, Callable[[Any], bool]]] = {
    ValueType.STRING: lambda value: isinstance(value, str),
    ValueType.NUMBER: _is_number,
    ValueType.BOOLEAN: lambda value: isinstance(value, bool),
    ValueType.ARRAY: lambda value: isinstance(value, list),
    ValueType.STRUCT: lambda value: isinstance(value, dict),
}
_MAX_SHOWN: Final = 40


def is_of(value: Value, wanted: ValueType) -> bool:
    """Whether a value has this type; nothing is converted."""
    return _IS[wanted](value)


def type_of(value: Value) -> str:
    """What a value is, in the words of step files; `null` for none."""
    return next((str(kind) for kind in ValueType if is_of(value, kind)), "null")


def shown(value: Value, *, is_sensitive: bool = False) -> str:
    """A value as a message quotes it: short, and never a sensitive one."""
    if is_sensitive:
        return "[sensitive]"
    text = text_of(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
